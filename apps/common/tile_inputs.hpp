#pragma once
// Tiles that other ranks need, as inputs of a task graph.

#include <shoal/shoal.hpp>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "common/block_partition.hpp"
#include "common/tile_table.hpp"

namespace apps {

/// A graph with a task for each arrival of a tile at a rank, which puts the tile into the rank's
/// table. The library chooses how the tile travels: large ones without a copy between processes,
/// and ranks of one process share it.
class TileInputs {
 public:
  /// Functions of the rank that gets a tile; tasks call them.
  struct Receiver {
    std::string name;  // of the graph
    /// How often tasks will release the tile, which they only read: see TileTable::put().
    std::function<int(int i, int j)> uses;
    /// The tile is in the table.
    std::function<void(int i, int j)> arrived;
  };

  /// Caller: all ranks, in the same order.
  TileInputs(shoal::World& world, const BlockPartition& partition, TileTable& tiles,
             Receiver receiver);

  /// Sends the tile (i, j) of the own table, which no one writes any more, to these ranks.
  /// Caller: any thread.
  void send(const std::vector<shoal::Rank>& to, int i, int j);

 private:
  using Key = std::array<int, 3>;  // {rank, i, j}
  void arrive(int i, int j, const shoal::Immutable<TileValues>& values);

  const BlockPartition& partition_;
  TileTable& tiles_;
  const Receiver receiver_;
  shoal::TaskGraph<Key> arrivals_;
};

}  // namespace apps
