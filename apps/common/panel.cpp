#include "common/panel.hpp"

#include <algorithm>

namespace apps {
namespace {

/// Calls copy(tile row, tile column, panel row, panel column) for each tile of `range`.
template <class Copy>
void for_each_part(const BlockPartition& partition, const TileRange& range, Copy copy) {
  int column = 0;
  for (const int j : range.columns) {
    int row = 0;
    for (const int i : range.rows) {
      copy(i, j, row, column);
      row += partition.extent(i);
    }
    column += partition.extent(j);
  }
}

int extent(const BlockPartition& partition, const std::vector<int>& blocks) {
  int sum = 0;
  for (const int block : blocks) sum += partition.extent(block);
  return sum;
}

}  // namespace

Tile assemble(const TileTable& tiles, const BlockPartition& partition, const TileRange& range) {
  Tile panel(extent(partition, range.rows), extent(partition, range.columns));
  for_each_part(partition, range, [&](int i, int j, int row, int column) {
    const Tile& tile = tiles.at(i, j);
    for (int c = 0; c < tile.columns(); ++c) {
      std::copy_n(&tile.data()[static_cast<std::ptrdiff_t>(c) * tile.rows()], tile.rows(),
                  &panel(row, column + c));
    }
  });
  return panel;
}

void scatter(const Tile& panel, TileTable& tiles, const BlockPartition& partition,
             const TileRange& range) {
  for_each_part(partition, range, [&](int i, int j, int row, int column) {
    Tile& tile = tiles.at(i, j);
    for (int c = 0; c < tile.columns(); ++c) {
      for (int r = 0; r < tile.rows(); ++r) tile(r, c) = panel(row + r, column + c);
    }
  });
}

}  // namespace apps
