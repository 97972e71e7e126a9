#pragma once
// Incomplete Cholesky factors of sparse symmetric matrices.

#include <cstddef>
#include <vector>

#include "common/matrix_market.hpp"

namespace sparse_solve {

/// A lower triangular matrix by rows; the diagonal element is the last one of its row.
struct LowerFactor {
  int size = 0;
  std::vector<std::size_t> row_begin;  // size + 1
  std::vector<int> column;
  std::vector<double> value;
  double shift = 0;  // added to the scaled diagonal, so that it exists
};

/// Five-point Laplacian on a grid of k x k points.
[[nodiscard]] apps::SymmetricMatrix laplacian(int k);

/// Incomplete Cholesky factor without fill, IC(0), of a matrix with a positive diagonal. Where a
/// pivot is not positive, the diagonal is made larger, until all are (T. A. Manteuffel, 1980).
/// Errors: InputError for a diagonal element that is not positive.
[[nodiscard]] LowerFactor incomplete_factor(const apps::SymmetricMatrix& matrix);

/// Solves factor x = b, row by row.
[[nodiscard]] std::vector<double> solve_serially(const LowerFactor& factor,
                                                 const std::vector<double>& b);
/// One row of it: x_row from the elements before.
template <class Value>
double solve_row(const LowerFactor& factor, int row, double b, Value value_of) {
  const std::size_t end = factor.row_begin[static_cast<std::size_t>(row) + 1] - 1;
  for (std::size_t at = factor.row_begin[static_cast<std::size_t>(row)]; at < end; ++at) {
    b -= factor.value[at] * value_of(factor.column[at]);
  }
  return b / factor.value[end];
}

}  // namespace sparse_solve
