#include "common/tile.hpp"

#include <algorithm>

namespace apps {

Tile Tile::zeros(int rows, int columns) {
  Tile tile(rows, columns);
  std::ranges::fill(tile.values(), 0.0);
  return tile;
}

double sum_of_squares(const Tile& tile) {
  double sum = 0;
  for (const double value : tile.values()) sum += value * value;
  return sum;
}

double sum_of_squares_symmetric(const Tile& tile) {
  double sum = 0;
  for (int j = 0; j < tile.columns(); ++j) {
    sum += tile(j, j) * tile(j, j);
    for (int i = j + 1; i < tile.rows(); ++i) sum += 2 * tile(i, j) * tile(i, j);
  }
  return sum;
}

}  // namespace apps
