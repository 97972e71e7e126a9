// Sparse triangular solves with the incomplete factors of a matrix, in global memory.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/matrix_market.hpp"
#include "common/options.hpp"
#include "common/output_file.hpp"
#include "common/sum_of_squares.hpp"
#include "sparse_solve/factor.hpp"
#include "sparse_solve/solve.hpp"

namespace {

struct Options {
  std::string file;
  int grid = 40;
  sparse_solve::Grain grain;
  int repeat = 1;
  std::string json;
};

apps::SquareMatrix matrix_of(const Options& options) {
  if (options.file.empty()) return sparse_solve::laplacian(options.grid);
  apps::SquareMatrix matrix = apps::read_matrix_market_square_file(options.file);
  return matrix.has_values ? matrix : sparse_solve::with_values(matrix);
}

/// Times and numbers of one solve with both factors.
struct Run {
  std::vector<double> x;
  double seconds = 0;
  std::uint64_t puts = 0;
  std::uint64_t tasks = 0;
};

/// Solvers with both factors.
struct Solvers {
  sparse_solve::Solver lower;
  sparse_solve::Solver upper;
};

Run solve_once(shoal::World& world, Solvers& solvers, const sparse_solve::Factors& factors,
               const std::vector<double>& b) {
  Run run;
  const auto solve = [&](const sparse_solve::LowerFactor& factor, const std::vector<double>& side) {
    sparse_solve::Solver& solver = &factor == &factors.lower ? solvers.lower : solvers.upper;
    sparse_solve::Solution solution = solver.solve(side);
    run.seconds += solution.seconds;
    run.puts += solution.puts;
    run.tasks += solution.tasks;
    return world.broadcast(std::move(solution.x), shoal::Rank(0));
  };
  run.x = sparse_solve::solve_both(factors, b, solve);
  return run;
}

int run(shoal::World& world, const Options& options) {
  const sparse_solve::Factors factors = sparse_solve::incomplete_factors(matrix_of(options));
  std::vector<double> b;
  for (int i = 0; i < factors.lower.size; ++i) b.push_back(1 + 0.5 * std::sin(i));
  const std::vector<double> serial =
      sparse_solve::solve_both(factors, b, &sparse_solve::solve_serially);
  Solvers solvers{{world, factors.lower, options.grain},
                  {world, factors.reversed_upper, options.grain}};
  std::vector<double> seconds;
  double error = 0;
  bool good = true;
  std::uint64_t puts = 0;
  std::uint64_t tasks = 0;
  for (int i = 0; i < options.repeat; ++i) {
    const Run run = solve_once(world, solvers, factors, b);
    if (good) error = apps::relative_error(run.x, serial);  // else the first wrong one is told
    // Rows are summed in one order: the results are the same to the last bit.
    good = good && error == 0 && run.x == serial;
    seconds.push_back(run.seconds);
    puts = run.puts;
    tasks = run.tasks;
  }
  if (world.rank() != 0) return good ? 0 : 1;
  std::ranges::nth_element(seconds, seconds.begin() + options.repeat / 2);
  const double median = seconds[static_cast<std::size_t>(options.repeat) / 2];
  if (!apps::is_standard_output(options.json)) {
    fmt::print(
        "sparse_solve: {} rows, {} of {} elements, shift {:g}, {} ranks, {:.3g} s, {} tasks, {} "
        "puts, difference to the serial solve {:.1e}: {}\n",
        factors.lower.size, factors.kind,
        factors.lower.value.size() + factors.reversed_upper.value.size(), factors.shift,
        world.size(), median, tasks, puts, error, good ? "verified" : "wrong");
  }
  const bool written = apps::write_json(options.json, {{"ms", median * 1e3}, {"puts", puts}});
  return good && written ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Sparse triangular solves with incomplete factors.", "sparse_solve");
    Options options;
    app.add_option("FILE", options.file,
                   "square matrix in Matrix Market format (of a pattern, the Laplacian of its "
                   "graph); without one, the Laplacian of a grid");
    app.add_option("--grid", options.grid, "points of each side of that grid")
        ->check(cli::range(1, 10'000))
        ->capture_default_str();
    app.add_option("--block", options.grain.block,
                   "consecutive rows of a strip; default: four strips for each worker")
        ->check(cli::range(1, 100'000'000));
    app.add_option("--levels", options.grain.levels, "levels of a strip in one task")
        ->check(cli::range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--repeat", options.repeat, "number of timed solves, of which one is the median")
        ->check(cli::range(1, 1'000'000))
        ->capture_default_str();
    apps::add_json_option(app, options.json);
    return apps::run_app(app, world, [&] { return run(world, options); });
  });
}
