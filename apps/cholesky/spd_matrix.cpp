#include "cholesky/spd_matrix.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/random_matrix.hpp"

namespace cholesky {
namespace {

class RandomMatrix : public SpdMatrix {
 public:
  RandomMatrix(int size, std::uint64_t seed) : size_(size), seed_(seed) {}

  [[nodiscard]] int size() const override { return size_; }

  [[nodiscard]] apps::Tile lower_block(int row, int column, int rows, int columns) const override {
    apps::Tile tile = apps::Tile::zeros(rows, columns);
    for (int j = 0; j < columns; ++j) {
      for (int i = std::max(0, column + j - row); i < rows; ++i) {
        tile(i, j) = apps::random_spd_element(seed_, size_, row + i, column + j);
      }
    }
    return tile;
  }

 private:
  int size_;
  std::uint64_t seed_;
};

class SparseMatrix : public SpdMatrix {
 public:
  /// `lower` is sorted by row, then column.
  SparseMatrix(int size, std::vector<apps::Entry> lower)
      : lower_(std::move(lower)), row_begin_(static_cast<std::size_t>(size) + 1, 0) {
    for (const apps::Entry& entry : lower_) ++row_begin_[static_cast<std::size_t>(entry.row) + 1];
    for (std::size_t row = 1; row < row_begin_.size(); ++row) {
      row_begin_[row] += row_begin_[row - 1];
    }
  }

  [[nodiscard]] int size() const override { return static_cast<int>(row_begin_.size()) - 1; }

  [[nodiscard]] apps::Tile lower_block(int row, int column, int rows, int columns) const override {
    apps::Tile tile = apps::Tile::zeros(rows, columns);
    for (int i = 0; i < rows; ++i) {
      const auto end = at(row + i + 1);
      auto entry = std::partition_point(at(row + i), end, [&](const apps::Entry& candidate) {
        return candidate.column < column;
      });
      for (; entry != end && entry->column < column + columns; ++entry) {
        tile(i, entry->column - column) = entry->value;
      }
    }
    return tile;
  }

 private:
  [[nodiscard]] std::vector<apps::Entry>::const_iterator at(int row) const {
    return lower_.begin() + row_begin_[static_cast<std::size_t>(row)];
  }

  std::vector<apps::Entry> lower_;
  std::vector<std::ptrdiff_t> row_begin_;  // where the entries of each row begin in lower_
};

}  // namespace

std::unique_ptr<SpdMatrix> make_random(int size, std::uint64_t seed) {
  return std::make_unique<RandomMatrix>(size, seed);
}

std::unique_ptr<SpdMatrix> make_sparse(int size, std::vector<apps::Entry> lower) {
  return std::make_unique<SparseMatrix>(size, std::move(lower));
}

}  // namespace cholesky
