#pragma once
// Rows of the grid of the Jacobi iteration, without communication.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace jacobi {

/// Value on the border of an n x n grid; what is inside begins at 0.
inline double border(std::size_t row, std::size_t column, std::size_t n) {
  return static_cast<double>(row + 1) / static_cast<double>(n) -
         (column == 0 ? 1.0 : 0.25 * static_cast<double>(column) / static_cast<double>(n));
}

/// Rows first .. first + count - 1 of the grid, and one beyond each end.
class Grid {
 public:
  Grid(std::size_t n, std::size_t first, std::size_t count)
      : n_(n), first_(first), count_(count), old_((count + 2) * n, 0.0) {
    for (std::size_t row = 0; row < count + 2; ++row) {
      if (first + row == 0 || first + row > n) continue;  // beyond the grid
      const std::size_t global = first + row - 1;
      for (std::size_t column = 0; column < n; ++column) {
        if (is_border(global, column)) at(row)[column] = border(global, column, n);
      }
    }
    new_ = old_;
  }
  /// Row 1 is the first of the own rows; 0 and count + 1 are the neighbours'.
  [[nodiscard]] double* at(std::size_t row) { return old_.data() + row * n_; }

  /// One iteration; returns the sum of the squares of the changes.
  double iterate() {
    double change = 0;
    for (std::size_t row = 1; row <= count_; ++row) {
      const double* const up = at(row - 1);
      const double* const here = at(row);
      const double* const down = at(row + 1);
      double* const out = new_.data() + row * n_;
      if (first_ + row - 1 == 0 || first_ + row == n_) continue;
      for (std::size_t column = 1; column + 1 < n_; ++column) {
        out[column] = 0.25 * (here[column + 1] + here[column - 1] + up[column] + down[column]);
        change += (out[column] - here[column]) * (out[column] - here[column]);
      }
    }
    const auto own = static_cast<std::ptrdiff_t>(n_);
    std::copy(new_.begin() + own, new_.end() - own, old_.begin() + own);
    return change;
  }

 private:
  [[nodiscard]] bool is_border(std::size_t row, std::size_t column) const {
    return row == 0 || column == 0 || row + 1 == n_ || column + 1 == n_;
  }

  std::size_t n_;
  std::size_t first_;
  std::size_t count_;
  std::vector<double> old_;
  std::vector<double> new_;
};

}  // namespace jacobi
