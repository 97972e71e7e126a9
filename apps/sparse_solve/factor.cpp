#include "sparse_solve/factor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/input_error.hpp"

namespace sparse_solve {
namespace {

constexpr double kPivotMin = 0.01;  // of ILU(0), beside a largest element of one in each row

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// A matrix by rows, with all diagonal elements; columns ascend.
struct Rows {
  int size = 0;
  std::vector<std::size_t> begin;  // size + 1
  std::vector<int> column;
  std::vector<double> value;
  std::vector<std::size_t> diagonal;  // where it is in each row
};

Rows by_rows(const apps::SquareMatrix& matrix) {
  Rows rows;
  rows.size = matrix.size;
  rows.begin.push_back(0);
  auto entry = matrix.entries.begin();
  for (int row = 0; row < matrix.size; ++row) {
    bool has_diagonal = false;
    const auto add = [&](int column, double value) {
      if (column == row) rows.diagonal.push_back(rows.column.size());
      has_diagonal = has_diagonal || column == row;
      rows.column.push_back(column);
      rows.value.push_back(value);
    };
    for (; entry != matrix.entries.end() && entry->row == row; ++entry) {
      if (entry->column > row && !has_diagonal) add(row, 0);
      add(entry->column, entry->value);
    }
    if (!has_diagonal) add(row, 0);
    rows.begin.push_back(rows.column.size());
  }
  return rows;
}

bool has_cholesky_factor(const apps::SquareMatrix& matrix, const Rows& rows) {
  return matrix.symmetric &&
         std::ranges::all_of(rows.diagonal, [&](std::size_t at) { return rows.value[at] > 0; });
}

// --- IC(0)

/// The lower triangle of D A D, with ones on the diagonal: one shift suits all rows.
LowerFactor scaled_lower(const Rows& rows) {
  std::vector<double> scale;
  for (const std::size_t at : rows.diagonal) scale.push_back(1 / std::sqrt(rows.value[at]));
  LowerFactor lower;
  lower.size = rows.size;
  lower.row_begin.push_back(0);
  for (int row = 0; row < rows.size; ++row) {
    for (std::size_t at = rows.begin[index(row)]; at <= rows.diagonal[index(row)]; ++at) {
      const int column = rows.column[at];
      lower.column.push_back(column);
      lower.value.push_back(rows.value[at] * scale[index(row)] * scale[index(column)]);
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

/// An upper triangular matrix, of which element (row, column) is added by add(row, column, value),
/// in reverse order of its rows and columns.
class ReversedUpper {
 public:
  explicit ReversedUpper(int size) : rows_(index(size)) {}
  void add(int row, int column, double value) {
    const int last = static_cast<int>(rows_.size()) - 1;
    rows_[index(last - row)].push_back({0, last - column, value});
  }
  LowerFactor make() {
    LowerFactor factor;
    factor.size = static_cast<int>(rows_.size());
    factor.row_begin.push_back(0);
    for (std::vector<apps::Entry>& row : rows_) {
      std::ranges::sort(row, {}, &apps::Entry::column);
      for (const apps::Entry& entry : row) {
        factor.column.push_back(entry.column);
        factor.value.push_back(entry.value);
      }
      factor.row_begin.push_back(factor.column.size());
    }
    return factor;
  }

 private:
  std::vector<std::vector<apps::Entry>> rows_;
};

Factors cholesky_factors(const LowerFactor& scaled, double shift) {
  Factors factors{scaled, {}, "IC(0)", shift};
  LowerFactor& lower = factors.lower;
  for (std::size_t row = 0; row < index(lower.size); ++row) {
    lower.value[lower.row_begin[row + 1] - 1] += shift;
  }
  if (!factorize(lower)) return {};
  ReversedUpper upper(lower.size);
  for (int row = 0; row < lower.size; ++row) {
    for (std::size_t at = lower.row_begin[index(row)]; at < lower.row_begin[index(row) + 1]; ++at) {
      upper.add(lower.column[at], row, lower.value[at]);  // of the transpose
    }
  }
  factors.reversed_upper = upper.make();
  return factors;
}

// --- ILU(0)

void scale_rows(Rows& rows) {
  for (int row = 0; row < rows.size; ++row) {
    double largest = 0;
    for (std::size_t at = rows.begin[index(row)]; at < rows.begin[index(row) + 1]; ++at) {
      largest = std::max(largest, std::fabs(rows.value[at]));
    }
    if (largest == 0) {
      throw apps::InputError(
          fmt::format("row {} has no element other than 0: the matrix is singular", row + 1));
    }
    for (std::size_t at = rows.begin[index(row)]; at < rows.begin[index(row) + 1]; ++at) {
      rows.value[at] /= largest;
    }
  }
}

/// Eliminates a row by those above it. False: its pivot is not usable.
bool eliminate(Rows& rows, int row, std::vector<std::size_t>& place) {
  const std::size_t begin = rows.begin[index(row)];
  const std::size_t end = rows.begin[index(row) + 1];
  for (std::size_t at = begin; at < end; ++at) place[index(rows.column[at])] = at + 1;
  for (std::size_t at = begin; at < rows.diagonal[index(row)]; ++at) {
    const std::size_t above = index(rows.column[at]);
    rows.value[at] /= rows.value[rows.diagonal[above]];
    for (std::size_t from = rows.diagonal[above] + 1; from < rows.begin[above + 1]; ++from) {
      const std::size_t to = place[index(rows.column[from])];
      if (to != 0) rows.value[to - 1] -= rows.value[at] * rows.value[from];
    }
  }
  for (std::size_t at = begin; at < end; ++at) place[index(rows.column[at])] = 0;
  return std::fabs(rows.value[rows.diagonal[index(row)]]) >= kPivotMin;  // false for NaN, too
}

Factors lu_factors(Rows rows, double shift) {
  for (const std::size_t at : rows.diagonal) {
    rows.value[at] += rows.value[at] < 0 ? -shift : shift;
  }
  std::vector<std::size_t> place(index(rows.size));  // of a column in the row; 0: nowhere
  for (int row = 0; row < rows.size; ++row) {
    if (!eliminate(rows, row, place)) return {};
  }
  Factors factors{{}, {}, "ILU(0)", shift};
  factors.lower.size = rows.size;
  factors.lower.row_begin.push_back(0);
  ReversedUpper upper(rows.size);
  for (int row = 0; row < rows.size; ++row) {
    for (std::size_t at = rows.begin[index(row)]; at < rows.begin[index(row) + 1]; ++at) {
      if (rows.column[at] >= row) upper.add(row, rows.column[at], rows.value[at]);
      if (rows.column[at] > row) continue;
      factors.lower.column.push_back(rows.column[at]);
      factors.lower.value.push_back(rows.column[at] == row ? 1 : rows.value[at]);
    }
    factors.lower.row_begin.push_back(factors.lower.column.size());
  }
  factors.reversed_upper = upper.make();
  return factors;
}

}  // namespace

apps::SquareMatrix laplacian(int k) {
  apps::SquareMatrix matrix;
  matrix.size = k * k;
  matrix.symmetric = true;
  for (int row = 0; row < k * k; ++row) {
    if (row >= k) matrix.entries.push_back({row, row - k, -1});
    if (row % k > 0) matrix.entries.push_back({row, row - 1, -1});
    matrix.entries.push_back({row, row, 4});
    if (row % k + 1 < k) matrix.entries.push_back({row, row + 1, -1});
    if (row + k < k * k) matrix.entries.push_back({row, row + k, -1});
  }
  return matrix;
}

apps::SquareMatrix with_values(const apps::SquareMatrix& pattern) {
  apps::SquareMatrix matrix = pattern;
  matrix.has_values = true;
  matrix.entries.clear();
  std::vector<int> others(index(pattern.size));
  for (const apps::Entry& entry : pattern.entries) {
    if (entry.row == entry.column) continue;
    ++others[index(entry.row)];
    matrix.entries.push_back({entry.row, entry.column, -1});
  }
  for (int row = 0; row < pattern.size; ++row) {
    matrix.entries.push_back({row, row, 1.0 + others[index(row)]});
  }
  std::ranges::sort(matrix.entries, [](const apps::Entry& a, const apps::Entry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  return matrix;
}

Factors incomplete_factors(const apps::SquareMatrix& matrix) {
  Rows rows = by_rows(matrix);
  const bool symmetric = has_cholesky_factor(matrix, rows);
  LowerFactor lower;
  if (symmetric) {
    lower = scaled_lower(rows);
  } else {
    scale_rows(rows);
  }
  for (double shift = 0;; shift = shift == 0 ? 1e-3 : 2 * shift) {
    Factors factors = symmetric ? cholesky_factors(lower, shift) : lu_factors(rows, shift);
    if (factors.lower.size > 0) return factors;
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
