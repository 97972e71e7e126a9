#include "sparse_solve/factor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/input_error.hpp"

namespace sparse_solve {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// The lower triangle by rows, with a diagonal element at the end of each.
LowerFactor by_rows(const apps::SymmetricMatrix& matrix) {
  LowerFactor lower;
  lower.size = matrix.size;
  lower.row_begin.push_back(0);
  auto entry = matrix.lower.begin();
  for (int row = 0; row < matrix.size; ++row) {
    for (; entry != matrix.lower.end() && entry->row == row; ++entry) {
      lower.column.push_back(entry->column);
      lower.value.push_back(entry->value);
    }
    const bool has_diagonal =
        lower.column.size() > lower.row_begin.back() && lower.column.back() == row;
    if (!has_diagonal || !(lower.value.back() > 0)) {
      throw apps::InputError(fmt::format(
          "the diagonal element of row {} is not positive: there is no Cholesky factor", row + 1));
    }
    lower.row_begin.push_back(lower.column.size());
  }
  return lower;
}

/// Sum of the products of two rows' elements in columns below `column`.
double dot(const LowerFactor& factor, int row_a, int row_b, int column) {
  std::size_t a = factor.row_begin[index(row_a)];
  std::size_t b = factor.row_begin[index(row_b)];
  double sum = 0;
  while (factor.column[a] < column && factor.column[b] < column) {
    if (factor.column[a] == factor.column[b]) {
      sum += factor.value[a++] * factor.value[b++];
    } else if (factor.column[a] < factor.column[b]) {
      ++a;
    } else {
      ++b;
    }
  }
  return sum;
}

/// False: a pivot is not positive.
bool factorize(LowerFactor& factor) {
  for (int row = 0; row < factor.size; ++row) {
    const std::size_t end = factor.row_begin[index(row) + 1] - 1;
    for (std::size_t at = factor.row_begin[index(row)]; at < end; ++at) {
      const int column = factor.column[at];
      const double pivot = factor.value[factor.row_begin[index(column) + 1] - 1];
      factor.value[at] = (factor.value[at] - dot(factor, row, column, column)) / pivot;
    }
    const double square = factor.value[end] - dot(factor, row, row, row);
    if (!(square > 0)) return false;
    factor.value[end] = std::sqrt(square);
  }
  return true;
}

}  // namespace

apps::SymmetricMatrix laplacian(int k) {
  apps::SymmetricMatrix matrix;
  matrix.size = k * k;
  for (int row = 0; row < k * k; ++row) {
    if (row >= k) matrix.lower.push_back({row, row - k, -1});
    if (row % k > 0) matrix.lower.push_back({row, row - 1, -1});
    matrix.lower.push_back({row, row, 4});
  }
  return matrix;
}

LowerFactor incomplete_factor(const apps::SymmetricMatrix& matrix) {
  LowerFactor lower = by_rows(matrix);
  // With a diagonal of ones, one shift suits all rows.
  std::vector<double> scale;
  for (int row = 0; row < lower.size; ++row) {
    scale.push_back(1 / std::sqrt(lower.value[lower.row_begin[index(row) + 1] - 1]));
  }
  for (int row = 0; row < lower.size; ++row) {
    for (std::size_t at = lower.row_begin[index(row)]; at < lower.row_begin[index(row) + 1]; ++at) {
      lower.value[at] *= scale[index(row)] * scale[index(lower.column[at])];
    }
  }
  for (double shift = 0;; shift = shift == 0 ? 1e-3 : 2 * shift) {
    LowerFactor factor = lower;
    factor.shift = shift;
    for (int row = 0; row < factor.size; ++row) {
      factor.value[factor.row_begin[index(row) + 1] - 1] += shift;
    }
    if (factorize(factor)) return factor;
  }
}

std::vector<double> solve_serially(const LowerFactor& factor, const std::vector<double>& b) {
  std::vector<double> x(b.size());
  for (int row = 0; row < factor.size; ++row) {
    x[index(row)] = solve_row(factor, row, b[index(row)], [&](int j) { return x[index(j)]; });
  }
  return x;
}

}  // namespace sparse_solve
