#include "common/flow_square.hpp"

#include <fmt/format.h>

#include <utility>

#include "common/blas.hpp"

namespace apps {

FlowSquare::FlowSquare(shoal::World& world, const FlowAppOptions& options,
                       const std::string& program, Element element, FlowMatrix::Part part)
    : world_(world),
      options_(options),
      program_(program),
      element_(std::move(element)),
      part_(part),
      tiles_(BlockPartition::uniform(options.common.size, options.common.tile)),
      grid_(grid_of(options.grid, world.size())),
      flow_(world, program, {.broadcast_tree = options.tree}),
      meter_(world, program, false),
      a_(make("A")) {
  use_blas_threads(1);
}

FlowMatrix FlowSquare::make(const std::string& name) {
  return {world_, flow_, tiles_, tiles_, grid_, name, part_};
}

// A lower part stands for the whole symmetric matrix.
SumOfSquares FlowSquare::squares(FlowMatrix& matrix) const {
  SumOfSquares sum;
  matrix.for_each_own([&](int i, int j, const Tile& tile) {
    if (part_ == FlowMatrix::Part::all) {
      sum += sum_of_squares(tile);
    } else {
      sum += i == j ? sum_of_squares_symmetric(tile) : 2 * sum_of_squares(tile);
    }
  });
  return sum;
}

double FlowSquare::residual(const std::function<void(FlowMatrix& c)>& subtract) {
  FlowMatrix difference = make("difference");
  fill(world_, flow_, difference, element_);
  const SumOfSquares reference = squares(difference);
  subtract(difference);
  world_.wait();
  return relative_norm(world_, squares(difference), reference);
}

int FlowSquare::run(const std::string& formula, double gflop, std::function<void()> factor,
                    std::function<double()> residual) {
  FlowProblem problem;
  problem.name = program_;
  problem.problem =
      fmt::format("n={}, {}x{} tiles of up to {}, grid {}x{}", options_.common.size, tiles_.count(),
                  tiles_.count(), options_.common.tile, grid_.rows(), grid_.columns());
  problem.formula = formula;
  problem.gflop = gflop;
  problem.fill = [this] { fill(world_, flow_, a_, element_); };
  problem.factor = std::move(factor);
  problem.residual = std::move(residual);
  return run_flow_problem(world_, options_, meter_, problem);
}

}  // namespace apps
