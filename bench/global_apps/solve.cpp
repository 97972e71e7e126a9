#include "global_apps/solve.hpp"

#include "cli/command_line.hpp"

#include <cmath>
#include <exception>
#include <stdexcept>

#include "common/stopwatch.hpp"
#include "sparse_solve/factor.hpp"

namespace bench::solve {
namespace {

Triangle triangle_of(const sparse_solve::LowerFactor& factor) {
  return {factor.size, factor.row_begin, factor.column, factor.value};
}

sparse_solve::Factors factors_of(const Options& options) {
  if (options.file.empty()) {
    return sparse_solve::incomplete_factors(sparse_solve::laplacian(options.grid));
  }
  const apps::SquareMatrix matrix = apps::read_matrix_market_square_file(options.file);
  return sparse_solve::incomplete_factors(matrix.has_values ? matrix
                                                            : sparse_solve::with_values(matrix));
}

int measure(const Side& side, const Options& options) {
  limit_time(options.run);
  sparse_solve::Factors factors;
  try {
    factors = factors_of(options);
  } catch (const std::exception& error) {
    throw std::invalid_argument(error.what());
  }
  std::vector<double> b;
  for (int i = 0; i < factors.lower.size; ++i) b.push_back(1 + 0.5 * std::sin(i));
  const std::vector<double> right =
      sparse_solve::solve_both(factors, b, &sparse_solve::solve_serially);
  const Triangle lower = triangle_of(factors.lower);
  const Triangle upper = triangle_of(factors.reversed_upper);
  const Solve solve_lower = side.prepare(lower, options);
  const Solve solve_upper = side.prepare(upper, options);
  std::vector<double> y(b.size());
  std::vector<double> x(b.size());
  std::vector<Sample> samples;
  for (int i = 0; i < options.run.repeat; ++i) {
    const Stopwatch forward;
    solve_lower(b, y);
    double seconds = forward.seconds();
    const std::vector<double> reversed(y.rbegin(), y.rend());
    const Stopwatch back;
    solve_upper(reversed, x);
    seconds += back.seconds();
    // Each row is summed in one order: the results are the same to the last bit.
    samples.push_back({seconds, std::vector(x.rbegin(), x.rend()) == right});
  }
  const Sample sample = median(samples);
  return finish({"solve",
                 side.name,
                 {{"ms", sample.seconds * 1e3}},
                 {{"rows", std::int64_t{lower.size}},
                  {"kind", factors.kind},
                  {"threads", std::int64_t{options.threads}}}},
                sample.verified);
}

}  // namespace

int run(const Side& side, int argc, char** argv) {
  Options options;
  const auto add_options = [&options](cli::App& app) {
    add_run_options(app, options.run);
    app.add_option("FILE", options.file, "Matrix; without one, the Laplacian of a grid");
    app.add_option("--grid", options.grid, "Points of each side of that grid")
        ->check(cli::range(1, 10'000));
    app.add_option("--threads", options.threads, "Threads, of OpenMP")->check(cli::range(1, 1024));
  };
  return run_program({"solve_" + side.name, "Sparse triangular solves without shoal.", add_options,
                      [&] { return measure(side, options); }},
                     {argv + 1, argv + argc}, true);
}

}  // namespace bench::solve
