#pragma once
// The ranks as a grid, and the 2D block-cyclic distribution of tiles over it.

#include <shoal/rank.hpp>

#include <string>

namespace apps {

/// `rows` x `columns` ranks; the tile (i, j) belongs to the rank in row i % rows and column
/// j % columns.
class ProcessGrid {
 public:
  /// The grid nearest to a square that uses all ranks, with no more rows than columns.
  static ProcessGrid near_square(int rank_count);
  /// A grid given as "PxQ". Errors: InputError if it is not of that form, or P * Q != rank_count.
  static ProcessGrid parse(const std::string& text, int rank_count);

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] shoal::Rank owner(int i, int j) const { return at(i % rows_, j % columns_); }
  [[nodiscard]] shoal::Rank at(int row, int column) const {
    return shoal::Rank(row * columns_ + column);
  }
  [[nodiscard]] int row_of(shoal::Rank rank) const { return rank / columns_; }
  [[nodiscard]] int column_of(shoal::Rank rank) const { return rank % columns_; }

 private:
  ProcessGrid(int rows, int columns) : rows_(rows), columns_(columns) {}

  int rows_;
  int columns_;
};

}  // namespace apps
