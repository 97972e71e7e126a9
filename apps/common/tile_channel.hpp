#pragma once
// Tiles sent from the table of one rank to the table of another.

#include <shoal/shoal.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "common/block_partition.hpp"
#include "common/tile_table.hpp"

namespace apps {

/// small: the tile is copied into a message, and from the message into the table of the receiver.
/// large: the transport reads from the table of the sender and writes to the one of the receiver.
enum class AmKind { small, large };

/// Active messages that carry the tile (i, j) to the same place of another rank's table.
/// Lifetime: the channel outlives the wait() of its last message. All ranks create their channels
/// in the same order.
class TileChannel {
 public:
  /// Functions of the receiver. Both are called for each tile in progress context, where they must
  /// not block: `uses` before the data is there, `arrived` when it is.
  struct Receiver {
    std::string name;  // of the message, for error reports
    /// How often tasks will release the copy, which they only read: see TileTable::put().
    std::function<int(int i, int j)> uses;
    std::function<void(int i, int j)> arrived;
  };

  TileChannel(shoal::World& world, AmKind kind, const BlockPartition& partition, TileTable& tiles,
              Receiver receiver);

  /// Sends the tile (i, j), which must not change before the program's next wait() is over.
  /// Caller: any thread.
  void send(shoal::Rank to, int i, int j);

 private:
  void make_small(shoal::World& world);
  void make_large(shoal::World& world);
  std::span<double> make_place(int i, int j);

  const BlockPartition& partition_;
  TileTable& tiles_;
  Receiver receiver_;
  // One of them, by the kind.
  std::optional<shoal::ActiveMessage<int, int, std::span<const double>>> small_;
  std::optional<shoal::LargeMessage<double, int, int>> large_;
};

}  // namespace apps
