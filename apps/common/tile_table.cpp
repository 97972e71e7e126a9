#include "common/tile_table.hpp"

#include <shoal/detail/base/check.hpp>

#include <utility>

namespace apps {

using shoal::sync::Lock;

TileTable::TileTable(int rows, int columns)
    : rows_(rows), columns_(columns), shards_(std::make_unique<std::array<Shard, kShards>>()) {}

void TileTable::put(int i, int j, Tile tile, int uses) {
  const std::uint64_t place = key(i, j);
  Shard& part = shard(place);
  bool is_new = false;
  {
    const Lock lock(part.mutex);
    is_new = part.places.try_emplace(place, std::move(tile), uses).second;
  }
  SHOAL_CHECK(is_new, "there is a tile at ({}, {}) already", i, j);
}

void TileTable::release(int i, int j) {
  const std::uint64_t place = key(i, j);
  Shard& part = shard(place);
  Tile last;  // freed without the lock
  bool is_there = false;
  {
    const Lock lock(part.mutex);
    const auto found = part.places.find(place);
    is_there = found != part.places.end();
    if (is_there) {
      int& uses_left = found->second.uses_left;
      if (uses_left == kUnlimited || --uses_left > 0) return;
      last = std::move(found->second.tile);
      part.places.erase(found);
    }
  }
  SHOAL_CHECK(is_there, "there is no tile at ({}, {})", i, j);
}

Tile TileTable::drop(int i, int j) {
  const std::uint64_t place = key(i, j);
  Shard& part = shard(place);
  const Lock lock(part.mutex);
  auto node = part.places.extract(place);
  return node.empty() ? Tile() : std::move(node.mapped().tile);
}

void TileTable::clear() {
  for (Shard& part : *shards_) {
    const Lock lock(part.mutex);
    part.places.clear();
  }
}

Tile& TileTable::at(int i, int j) {
  Tile* const tile = find(i, j);
  SHOAL_CHECK(tile != nullptr, "there is no tile at ({}, {})", i, j);
  return *tile;
}

const Tile& TileTable::at(int i, int j) const { return const_cast<TileTable&>(*this).at(i, j); }

std::uint64_t TileTable::key(int i, int j) const {
  SHOAL_CHECK(i >= 0 && i < rows_ && j >= 0 && j < columns_, "no place ({}, {}) in {} x {} tiles",
              i, j, rows_, columns_);
  return static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(columns_) +
         static_cast<std::uint64_t>(j);
}

// Fibonacci hashing: the places of a rank are regular.
TileTable::Shard& TileTable::shard(std::uint64_t key) const {
  return (*shards_)[(key * 0x9E3779B97F4A7C15U) >> 58U];
}

// Places stay where they are while others come and go.
Tile* TileTable::find(int i, int j) const {
  const std::uint64_t place = key(i, j);
  Shard& part = shard(place);
  const Lock lock(part.mutex);
  const auto found = part.places.find(place);
  return found == part.places.end() ? nullptr : &found->second.tile;
}

}  // namespace apps
