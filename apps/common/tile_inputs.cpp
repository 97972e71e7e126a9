#include "common/tile_inputs.hpp"

#include <limits>
#include <utility>

namespace apps {

TileInputs::TileInputs(shoal::World& world, const BlockPartition& partition, TileTable& tiles,
                       Receiver receiver)
    : partition_(partition),
      tiles_(tiles),
      receiver_(std::move(receiver)),
      arrivals_(world, receiver_.name) {
  arrivals_.set_rank([](const Key& key) { return key[0]; })
      .set_task([this](const Key& key, const shoal::Immutable<TileValues>& values) {
        arrive(key[1], key[2], values);
      })
      .set_mapping(
          [workers = world.worker_count()](const Key& key) { return (key[1] + key[2]) % workers; })
      .set_priority([](const Key&) { return std::numeric_limits<int>::max(); });  // others wait
}

void TileInputs::send(const std::vector<shoal::Rank>& to, int i, int j) {
  std::vector<Key> keys;
  keys.reserve(to.size());
  for (const shoal::Rank rank : to) keys.push_back({rank.value(), i, j});
  const shoal::Immutable<TileValues> values(std::as_const(tiles_).at(i, j).share());
  arrivals_.send_all(keys, 0, values);
}

void TileInputs::arrive(int i, int j, const shoal::Immutable<TileValues>& values) {
  Tile tile(partition_.extent(i), partition_.extent(j), values.shared());
  tiles_.put(i, j, std::move(tile), receiver_.uses(i, j));
  receiver_.arrived(i, j);
}

}  // namespace apps
