#include "common/tile_table.hpp"

#include <shoal/base/check.hpp>

#include <utility>

namespace apps {

TileTable::TileTable(int rows, int columns)
    : rows_(rows),
      columns_(columns),
      places_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

void TileTable::put(int i, int j, Tile tile, int uses) {
  Place& place = this->place(i, j);
  SHOAL_CHECK(place.tile.empty(), "there is a tile at ({}, {}) already", i, j);
  place.tile = std::move(tile);
  // Whoever releases the tile learned of it from a task or message that started after this call.
  place.uses_left.store(uses, std::memory_order_relaxed);
}

void TileTable::release(int i, int j) {
  Place& place = checked(i, j);
  if (place.uses_left.load(std::memory_order_relaxed) == kKept) return;
  if (place.uses_left.fetch_sub(1, std::memory_order_acq_rel) == 1) place.tile = Tile();
}

Tile TileTable::drop(int i, int j) { return std::exchange(place(i, j).tile, Tile()); }

void TileTable::clear() {
  for (Place& place : places_) place.tile = Tile();
}

const TileTable::Place& TileTable::place(int i, int j) const {
  SHOAL_CHECK(i >= 0 && i < rows_ && j >= 0 && j < columns_, "no place ({}, {}) in {} x {} tiles",
              i, j, rows_, columns_);
  return places_[static_cast<std::size_t>(i) * static_cast<std::size_t>(columns_) +
                 static_cast<std::size_t>(j)];
}

TileTable::Place& TileTable::place(int i, int j) {
  return const_cast<Place&>(std::as_const(*this).place(i, j));
}

const TileTable::Place& TileTable::checked(int i, int j) const {
  const Place& place = this->place(i, j);
  SHOAL_CHECK(!place.tile.empty(), "there is no tile at ({}, {})", i, j);
  return place;
}

TileTable::Place& TileTable::checked(int i, int j) {
  return const_cast<Place&>(std::as_const(*this).checked(i, j));
}

}  // namespace apps
