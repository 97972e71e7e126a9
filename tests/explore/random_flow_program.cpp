// A random program of a sequential flow, for shoal-explore. Fails if its data do not have the
// values that the statements give one after the other.
//
//   random_flow_program --sim --sim-seed N [options of shoal]

#include <shoal/shoal.hpp>

#include "support/explored.hpp"
#include "support/flow_program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace {

shoal::FlowOptions options_of(std::uint64_t seed) {
  shoal::FlowOptions options;
  if (seed % 3 == 0) options.tasks_max = 1 + seed % 7;
  if (seed % 4 == 0) options.copy_bytes_max = 4096;
  if (seed % 5 == 0) options.early_bytes_max = seed % 2000;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed =
      shoal::testing::seed_of(std::span<char*>(argv, static_cast<std::size_t>(argc)));
  return shoal::run(argc, argv, [seed](shoal::World& world) {
    constexpr double kTaskSeconds = 3e-6;
    const auto program =
        shoal::testing::make_flow_program(seed, {.ranks = world.size(), .pruned = seed % 6 == 5});
    const auto expected = shoal::testing::run_sequentially(program);
    const std::string difference =
        shoal::testing::run_flow_program(world, program, options_of(seed), expected, kTaskSeconds);
    if (!difference.empty()) throw std::logic_error("not the sequential result: " + difference);
  });
}
