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

void TileChannel::send(std::span<const shoal::Rank> to, int i, int j) {
  if (to.empty()) return;
  if (to.size() == 1) return send(to.front(), i, j);
  const auto values = std::as_const(tiles_).at(i, j).values();
  if (small_) {
    small_->multicast(to, i, j, values);
  } else {
    // While all ranks send and compute, each step of a tree waits for busy ranks: the sender serves
    // a few recipients best, and a wide tree many (docs/design/predictions.md).
    constexpr std::size_t kFew = 48;
    constexpr int kBranches = 4;
    const bool few = to.size() <= kFew;
    const auto shape = few ? shoal::TreeShape::flat : shoal::TreeShape::k_ary;
    large_->multicast({to, {shape, kBranches}}, values, i, j);
  }
}

void TileChannel::make_small(shoal::World& world) {
  small_.emplace(world.make_am(
      [this](int i, int j, std::span<const double> values) {
        std::ranges::copy(values, make_place(i, j, 0).begin());
        receiver_.arrived(i, j);
      },
      {.name = receiver_.name}));
}

void TileChannel::make_large(shoal::World& world) {
  large_.emplace(world.make_large_am<double>(
      [this](std::size_t /*count*/, int i, int j) { return make_place(i, j, 1); },
      // The tile is used while it is passed on, which is one use more.
      shoal::read_only(
          [this](std::span<const double> /*values*/, int i, int j) { receiver_.arrived(i, j); },
          [this](std::span<double> /*values*/, int i, int j) { tiles_.release(i, j); }),
      [](int /*i*/, int /*j*/) {},  // the sender's tile is not written before the next wait()
      {.name = receiver_.name}));
}

std::span<double> TileChannel::make_place(int i, int j, int more_uses) {
  Tile tile(partition_.extent(i), partition_.extent(j));
  const auto values = tile.values();
  const int uses = receiver_.uses(i, j);
  tiles_.put(i, j, std::move(tile), uses == TileTable::kKept ? uses : uses + more_uses);
  return values;
}

}  // namespace apps
