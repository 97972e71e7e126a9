#include "common/flow_app.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/output_file.hpp"
#include "common/report.hpp"

namespace apps {

void add_flow_options(cli::App& app, FlowAppOptions& options, bool with_size) {
  CommonOptions& common = options.common;
  if (with_size) {
    add_count(app, "--n", common.size, "Number of rows of the matrix");
    app.add_option("--seed", common.seed, "Seed of random matrices")
        ->option_text(fmt::format("N [{}]", common.seed));
  }
  add_count(app, "--tile", common.tile, "Number of rows of a tile");
  add_grid_option(app, options.grid);
  add_choice(app, "--tree", {"automatic", "flat", "chain", "binary", "binomial"},
             "Tree of broadcasts; flat is the same as none", [&options](std::size_t word) {
               using Shape = shoal::TreeShape;
               constexpr Shape kShapes[] = {Shape::automatic, Shape::flat, Shape::chain,
                                            Shape::k_ary, Shape::binomial};
               options.tree.shape = kShapes[word];
             });
  add_count(app, "--repeat", common.repeat, "Number of timed runs");
  app.add_flag_callback(
      "--verify", [&common] { common.verify = true; }, "Check the result [on]");
  app.add_flag_callback(
      "--no-verify", [&common] { common.verify = false; }, "Do not check it");
  add_json_option(app, common.json);
}

double relative_norm(shoal::World& world, const SumOfSquares& squares,
                     const SumOfSquares& reference) {
  const SumOfSquares sum = world.allreduce(squares, std::plus<>());
  return sum.relative_to(world.allreduce(reference, std::plus<>()));
}

int run_flow_problem(shoal::World& world, const FlowAppOptions& options, RunMeter& meter,
                     const FlowProblem& problem) {
  const CommonOptions& common = options.common;
  TimedRuns runs;
  runs.gflop = problem.gflop;
  for (int run = 0; run < common.repeat; ++run) {
    problem.fill();
    meter.start(0);
    problem.factor();
    world.wait();
    runs.add(meter.stop());
  }
  std::optional<double> residual;
  if (common.verify && !world.is_dry()) residual = problem.residual();
  // Not a number is not good.
  const bool good = !residual || *residual <= problem.residual_max;
  if (world.rank() != 0) return good ? 0 : 1;
  if (!is_standard_output(common.json)) {
    print_title(problem.name, world, problem.problem);
    print_rate("shoal", runs.seconds, runs.gflop);
    if (residual) {
      print_line("residual", fmt::format("{:.2e}  = {}, {}", *residual, problem.formula,
                                         good ? "good" : "BAD"));
    }
    print_costs(runs.costs, world.worker_count());
  }
  auto json = json_of_run(problem.name, world, runs);
  json["problem"] = problem.problem;
  json["tile"] = common.tile;
  if (residual) json["residual"] = *residual;
  return write_json(common.json, json) && good ? 0 : 1;
}

}  // namespace apps
