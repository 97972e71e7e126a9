#include "common/tile_channel.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace apps {

TileChannel::TileChannel(shoal::World& world, AmKind kind, const BlockPartition& partition,
                         TileTable& tiles, Receiver receiver)
    : partition_(partition), tiles_(tiles), receiver_(std::move(receiver)) {
  if (kind == AmKind::small) {
    make_small(world);
  } else {
    make_large(world);
  }
}

void TileChannel::send(shoal::Rank to, int i, int j) {
  const auto values = std::as_const(tiles_).at(i, j).values();
  if (small_) {
    small_->send(to, i, j, values);
  } else {
    large_->send(to, values, i, j);
  }
}

void TileChannel::make_small(shoal::World& world) {
  small_.emplace(world.make_am(
      [this](int i, int j, std::span<const double> values) {
        std::ranges::copy(values, make_place(i, j).begin());
        receiver_.arrived(i, j);
      },
      {.name = receiver_.name}));
}

void TileChannel::make_large(shoal::World& world) {
  large_.emplace(world.make_large_am<double>(
      [this](std::size_t /*count*/, int i, int j) { return make_place(i, j); },
      [this](std::span<double> /*values*/, int i, int j) { receiver_.arrived(i, j); },
      [](int /*i*/, int /*j*/) {},  // the sender's tile is not written before the next wait()
      {.name = receiver_.name}));
}

std::span<double> TileChannel::make_place(int i, int j) {
  Tile tile(partition_.extent(i), partition_.extent(j));
  const auto values = tile.values();
  tiles_.put(i, j, std::move(tile), receiver_.uses(i, j));
  return values;
}

}  // namespace apps
