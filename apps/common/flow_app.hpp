#pragma once
// Frame of the programs that factor a matrix in a sequential flow: options, timed runs, residual.

#include <shoal/shoal.hpp>

#include <functional>
#include <string>
#include "cli/command_line.hpp"

#include "common/options.hpp"
#include "common/process_grid.hpp"
#include "common/run_meter.hpp"
#include "common/sum_of_squares.hpp"

namespace apps {

struct FlowAppOptions {
  CommonOptions common;
  std::string grid;
  shoal::MulticastTree tree;
};

/// Adds --n, --tile, --grid, --tree, --seed, --repeat, --verify, --no-verify and --json.
void add_flow_options(cli::App& app, FlowAppOptions& options, bool with_size = true);

/// Work of a program in each of its runs.
struct FlowProblem {
  std::string name;     // of the program
  std::string problem;  // "n=..., ..."
  std::string formula;  // of the residual
  double gflop = 0;
  double residual_max = 1e-12;
  std::function<void()> fill;        // the input
  std::function<void()> factor;      // timed; all ranks
  std::function<double()> residual;  // all ranks
};

/// Runs and reports it; the exit code. Collective.
int run_flow_problem(shoal::World& world, const FlowAppOptions& options, RunMeter& meter,
                     const FlowProblem& problem);

/// The quotient of the norms of two sums over all ranks. Collective.
double relative_norm(shoal::World& world, const SumOfSquares& squares,
                     const SumOfSquares& reference);

}  // namespace apps
