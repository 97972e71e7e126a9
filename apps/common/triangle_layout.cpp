#include "common/triangle_layout.hpp"

#include <algorithm>

namespace apps {

std::vector<shoal::Rank> TriangleLayout::readers(int i, int k) const {
  std::vector<shoal::Rank> ranks;
  const auto add = [&](shoal::Rank rank) {
    if (rank != me_ && std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
  };
  // Owners repeat with the period of the grid: one period of the row and of the column has them
  // all.
  if (i != k) {
    for (int j = k + 1; j <= std::min(i, k + grid_.columns()); ++j) add(grid_.owner(i, j));
  }
  for (int below = i + 1; below <= std::min(n() - 1, i + grid_.rows()); ++below) {
    add(grid_.owner(below, i));
  }
  return ranks;
}

}  // namespace apps
