// Rows in their order, by one thread.

#include "global_apps/solve.hpp"

int main(int argc, char** argv) {
  using bench::solve::Triangle;
  const auto prepare = [](const Triangle& triangle, const bench::solve::Options& /*options*/) {
    return [&triangle](const std::vector<double>& b, std::vector<double>& x) {
      for (int row = 0; row < triangle.size; ++row) {
        const auto at = static_cast<std::size_t>(row);
        x[at] = bench::solve::solve_row(triangle, row, b[at], x);
      }
    };
  };
  return bench::solve::run({"serial", prepare}, argc, argv);
}
