#include "sparse_solve/tiles.hpp"

#include <algorithm>
#include <array>

namespace sparse_solve {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::vector<int> levels_of(const LowerFactor& factor) {
  std::vector<int> levels(index(factor.size));
  for (int row = 0; row < factor.size; ++row) {
    const std::size_t diagonal = factor.row_begin[index(row) + 1] - 1;
    for (std::size_t at = factor.row_begin[index(row)]; at < diagonal; ++at) {
      levels[index(row)] = std::max(levels[index(row)], levels[index(factor.column[at])] + 1);
    }
  }
  return levels;
}

}  // namespace

Tiles::Tiles(const LowerFactor& factor, int block, int levels)
    : block_(block), tile_of_(index(factor.size)) {
  const std::vector<int> level = levels_of(factor);
  // Range of levels, strip, level, row.
  std::vector<std::array<int, 4>> order;
  order.reserve(index(factor.size));
  for (int row = 0; row < factor.size; ++row) {
    order.push_back({level[index(row)] / levels, row / block, level[index(row)], row});
  }
  std::ranges::sort(order);
  rows_.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || order[i][0] != order[i - 1][0] || order[i][1] != order[i - 1][1]) {
      begin_.push_back(i);
    }
    rows_.push_back(order[i][3]);
    tile_of_[index(order[i][3])] = static_cast<int>(begin_.size()) - 1;
  }
  begin_.push_back(order.size());
}

}  // namespace sparse_solve
