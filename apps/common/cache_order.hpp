#pragma once
// An order of the updates C_ij += A_ik B_kj that keeps tiles in the caches of a core.

namespace apps {

/// Small tiles come from memory more often than large ones, so it matters which tasks follow each
/// other. Within a block of `depth` steps of k, a square of up to 6 x 6 tiles of C is updated by
/// all steps before the next square: a step reads 12 tiles for 36 updates, and the square stays.
///
/// Source: the loops of Goto, van de Geijn, "Anatomy of high-performance matrix multiplication",
/// 2008, as priorities of tasks.
class CacheOrder {
 public:
  /// Order of `rows` x `columns` tiles, which `workers` share: with few tiles, squares are smaller,
  /// so that each worker has some.
  CacheOrder(int rows, int columns, int depth, int workers);

  [[nodiscard]] int depth() const { return depth_; }
  /// How many places a block of steps has.
  [[nodiscard]] int length() const { return squares_down_ * squares_across_ * depth_; }
  /// When this step of the tile in this row and column comes, 0 first. Steps count from the
  /// start of the block.
  [[nodiscard]] int place(int row, int column, int step) const {
    return square(row, column) * depth_ + step;
  }
  /// The number of the square of a tile, from 0.
  [[nodiscard]] int square(int row, int column) const {
    return row / side_ + column / side_ * squares_down_;
  }

 private:
  const int side_;
  const int depth_;
  const int squares_down_;
  const int squares_across_;
};

}  // namespace apps
