#pragma once
// Sparse triangular solves by other means than shoal: those of apps/sparse_solve.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ranks/program.hpp"

namespace bench::solve {

struct Options {
  RunOptions run;
  std::string file;
  int grid = 40;
  int threads = 2;
};

/// A lower triangular matrix by rows; the diagonal element is the last one of its row.
struct Triangle {
  int size = 0;
  std::vector<std::size_t> row_begin;
  std::vector<int> column;
  std::vector<double> value;
};

/// x_row, from the elements before.
inline double solve_row(const Triangle& triangle, int row, double b, const std::vector<double>& x) {
  const std::size_t end = triangle.row_begin[static_cast<std::size_t>(row) + 1] - 1;
  for (std::size_t at = triangle.row_begin[static_cast<std::size_t>(row)]; at < end; ++at) {
    b -= triangle.value[at] * x[static_cast<std::size_t>(triangle.column[at])];
  }
  return b / triangle.value[end];
}

/// Solves triangle x = b. Its preparation is not timed.
using Solve = std::function<void(const std::vector<double>& b, std::vector<double>& x)>;
struct Side {
  std::string name;
  std::function<Solve(const Triangle&, const Options&)> prepare;
};

/// The body of a program of one side: times solves with both factors, compares the result with that
/// of rows in their order, and prints it. Returns the exit code.
int run(const Side& side, int argc, char** argv);

}  // namespace bench::solve
