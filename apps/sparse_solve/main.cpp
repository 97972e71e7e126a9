// Sparse triangular solve with the incomplete Cholesky factor of a matrix, in global memory.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/matrix_market.hpp"
#include "common/options.hpp"
#include "sparse_solve/factor.hpp"
#include "sparse_solve/solve.hpp"

namespace {

struct Options {
  std::string file;
  int grid = 40;
  int block = 16;
};

int run(shoal::World& world, const Options& options) {
  const apps::SymmetricMatrix matrix = options.file.empty()
                                           ? sparse_solve::laplacian(options.grid)
                                           : apps::read_matrix_market_file(options.file);
  const sparse_solve::LowerFactor factor = sparse_solve::incomplete_factor(matrix);
  std::vector<double> b;
  for (int i = 0; i < factor.size; ++i) b.push_back(1 + 0.5 * std::sin(i));
  const sparse_solve::Solution solution = sparse_solve::solve(world, factor, b, options.block);
  double error = 0;
  if (world.rank() == 0) {
    const std::vector<double> x = sparse_solve::solve_serially(factor, b);
    double size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      error = std::max(error, std::fabs(x[i] - solution.x[i]));
      size = std::max(size, std::fabs(x[i]));
    }
    error /= size;
    // Rows are summed in one order: the results are the same to the last bit.
    fmt::print(
        "sparse_solve: {} rows, {} elements, shift {:g}, {} ranks, {:.3g} s, {} puts, "
        "difference to the serial solve {:.1e}: {}\n",
        factor.size, factor.value.size(), factor.shift, world.size(), solution.seconds,
        solution.puts, error, error == 0 ? "verified" : "wrong");
  }
  return world.broadcast(error, shoal::Rank(0)) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    CLI::App app("Sparse triangular solve with an incomplete Cholesky factor.", "sparse_solve");
    Options options;
    app.add_option("FILE", options.file,
                   "symmetric matrix with a positive diagonal, in Matrix Market format; without "
                   "one, the Laplacian of a grid");
    app.add_option("--grid", options.grid, "points of each side of that grid")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    app.add_option("--block", options.block, "consecutive rows on one rank")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    return apps::run_app(app, world, [&] { return run(world, options); });
  });
}
