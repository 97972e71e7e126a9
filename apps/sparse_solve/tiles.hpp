#pragma once
// Tasks of a sparse triangular solve: a strip of rows, cut where the levels say.

#include <cstddef>
#include <span>
#include <vector>

#include "sparse_solve/factor.hpp"

namespace sparse_solve {

/// Rows of one task each: consecutive rows of a *strip* whose *levels* lie in one range. The level
/// of a row is the length of its longest chain of dependencies, so a tile needs elements of tiles
/// of earlier strips or lower levels only. On a grid, tiles become ready along a wave front, and
/// neighbouring strips exchange the elements along their border.
class Tiles {
 public:
  /// Strips of `block` rows, ranges of `levels` levels.
  Tiles(const LowerFactor& factor, int block, int levels);

  [[nodiscard]] int count() const { return static_cast<int>(begin_.size()) - 1; }
  /// The rows of a tile by level, those of one level in their order: neighbours in this list
  /// seldom wait for each other's division.
  [[nodiscard]] std::span<const int> rows(int tile) const {
    const std::size_t begin = begin_[static_cast<std::size_t>(tile)];
    return std::span(rows_).subspan(begin, begin_[static_cast<std::size_t>(tile) + 1] - begin);
  }
  /// The tile of a row. A row needs no elements of tiles with larger numbers.
  [[nodiscard]] int tile_of(int row) const { return tile_of_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] int strip_of(int tile) const { return rows(tile).front() / block_; }

 private:
  int block_;
  std::vector<int> rows_;
  std::vector<std::size_t> begin_;  // by tile, and the end
  std::vector<int> tile_of_;        // by row
};

}  // namespace sparse_solve
