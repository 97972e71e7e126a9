#include "common/tile.hpp"

#include <algorithm>

namespace apps {

Tile Tile::zeros(int rows, int columns) {
  Tile tile(rows, columns);
  std::ranges::fill(tile.values(), 0.0);
  return tile;
}

SumOfSquares sum_of_squares(const Tile& tile) {
  SumOfSquares sum;
  for (const double value : tile.values()) sum.add(value);
  return sum;
}

SumOfSquares sum_of_squares_symmetric(const Tile& tile) {
  SumOfSquares sum;
  for (int j = 0; j < tile.columns(); ++j) {
    sum.add(tile(j, j));
    for (int i = j + 1; i < tile.rows(); ++i) sum.add(tile(i, j), 2);
  }
  return sum;
}

}  // namespace apps
