// Level scheduling with OpenMP (E. Anderson, Y. Saad, 1989): a level holds the rows that need
// elements of earlier levels only; all threads work on one level at a time.

#include <omp.h>

#include <algorithm>

#include "global_apps/solve.hpp"

namespace {

using bench::solve::Triangle;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// The rows of each level.
std::vector<std::vector<int>> levels_of(const Triangle& triangle) {
  std::vector<std::vector<int>> levels;
  std::vector<std::size_t> level(index(triangle.size));
  for (int row = 0; row < triangle.size; ++row) {
    std::size_t& own = level[index(row)];
    for (std::size_t at = triangle.row_begin[index(row)];
         at + 1 < triangle.row_begin[index(row) + 1]; ++at) {
      own = std::max(own, level[index(triangle.column[at])] + 1);
    }
    if (own == levels.size()) levels.emplace_back();
    levels[own].push_back(row);
  }
  return levels;
}

bench::solve::Solve prepare(const Triangle& triangle, const bench::solve::Options& options) {
  omp_set_dynamic(0);
  omp_set_num_threads(options.threads);
  return [&triangle, levels = levels_of(triangle)](const std::vector<double>& b,
                                                   std::vector<double>& x) {
#pragma omp parallel default(none) shared(triangle, levels, b, x)
    for (const std::vector<int>& rows : levels) {
#pragma omp for schedule(static)
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const int row = rows[i];
        x[index(row)] = bench::solve::solve_row(triangle, row, b[index(row)], x);
      }
    }
  };
}

}  // namespace

int main(int argc, char** argv) { return bench::solve::run({BENCH_SIDE, &prepare}, argc, argv); }
