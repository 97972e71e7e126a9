#pragma once
// The tiles of a matrix that a rank has at the moment: its own ones and copies of others'.

#include <shoal/detail/sync/mutex.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "common/tile.hpp"

namespace apps {

/// A table of rows x columns places, each empty or with a tile. Takes memory for places with a
/// tile. Caller: any thread, unless another one puts or drops a tile at the same place; the
/// dependencies of the tasks ensure that.
class TileTable {
 public:
  /// Instead of a number of uses: the tile stays until it is dropped.
  static constexpr int kUnlimited = -1;

  TileTable(int rows, int columns);

  /// Puts a tile that ends after `uses` calls of release(). The place must be empty.
  void put(int i, int j, Tile tile, int uses = kUnlimited);
  /// One use of the tile is over; does nothing for tiles that are kept.
  void release(int i, int j);
  /// Empties the place, and returns its tile.
  Tile drop(int i, int j);
  /// Empties all places. Caller: main, while no task runs.
  void clear();

  [[nodiscard]] bool has(int i, int j) const { return find(i, j) != nullptr; }
  /// The tile at (i, j), which must be there.
  [[nodiscard]] Tile& at(int i, int j);
  [[nodiscard]] const Tile& at(int i, int j) const;

 private:
  struct Place {
    Tile tile;
    int uses_left = kUnlimited;
  };
  /// Tasks look at different places at the same time, so each lock guards few of them.
  struct Shard {
    shoal::sync::Mutex mutex;
    std::unordered_map<std::uint64_t, Place> places SHOAL_GUARDED_BY(mutex);
  };
  static constexpr std::size_t kShards = 64;

  [[nodiscard]] std::uint64_t key(int i, int j) const;
  [[nodiscard]] Shard& shard(std::uint64_t key) const;
  /// The tile at (i, j); nullptr: none.
  [[nodiscard]] Tile* find(int i, int j) const;

  int rows_;
  int columns_;
  std::unique_ptr<std::array<Shard, kShards>> shards_;
};

}  // namespace apps
