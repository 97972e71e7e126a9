#pragma once
// Incomplete factors of sparse square matrices.

#include <cstddef>
#include <string>
#include <vector>

#include "common/matrix_market.hpp"

namespace sparse_solve {

/// A lower triangular matrix by rows; the diagonal element is the last one of its row.
struct LowerFactor {
  int size = 0;
  std::vector<std::size_t> row_begin;  // size + 1
  std::vector<int> column;
  std::vector<double> value;
};

/// Incomplete factors without fill: the elements of `lower` times the upper factor equal those of
/// the scaled and shifted matrix wherever that has any.
struct Factors {
  LowerFactor lower;
  LowerFactor reversed_upper;  // the upper factor, its rows and columns in reverse order
  std::string kind;            // "IC(0)" or "ILU(0)"
  double shift = 0;            // added to the scaled diagonal, so that all pivots are usable
};

/// Five-point Laplacian on a grid of k x k points.
[[nodiscard]] apps::SquareMatrix laplacian(int k);

/// A matrix for a pattern without values: the Laplacian of its graph, plus one on the diagonal.
/// Every row has a diagonal element larger than the sum of the others.
[[nodiscard]] apps::SquareMatrix with_values(const apps::SquareMatrix& pattern);

/// Symmetric matrices with a positive diagonal have a Cholesky factor, IC(0), of D A D with ones on
/// the diagonal. All others have ILU(0) factors; their rows are scaled to a largest element of one,
/// and absent diagonal elements are zeros. Where a pivot is not usable, the diagonal is made
/// larger, until all are (T. A. Manteuffel, 1980).
/// Errors: InputError for a row without an element.
[[nodiscard]] Factors incomplete_factors(const apps::SquareMatrix& matrix);

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

/// Solves with both factors: solve(factor, b) returns the x of factor x = b.
template <class Solve>
std::vector<double> solve_both(const Factors& factors, const std::vector<double>& b, Solve solve) {
  const std::vector<double> y = solve(factors.lower, b);
  const std::vector<double> x = solve(factors.reversed_upper, std::vector(y.rbegin(), y.rend()));
  return {x.rbegin(), x.rend()};
}

}  // namespace sparse_solve
