// Random programs of a sequential flow between processes.

#include <shoal/flow.hpp>
#include <shoal/shoal.hpp>

#include "mpi/world_battery.hpp"
#include "support/flow_program.hpp"
#include "support/joined_program.hpp"

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace flow_world_test {

using shoal::World;
using shoal::testing::make_flow_program;
using shoal::testing::require;
using shoal::testing::run_flow_program;
using shoal::testing::run_sequentially;
using shoal::testing::run_with;

void random_programs(World& world) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    constexpr const char* kSchedulers[] = {"locality", "fifo", "priority", "completion"};
    const char* const scheduler = kSchedulers[seed % std::size(kSchedulers)];
    const auto program = make_flow_program(
        seed, {.ranks = world.size(), .statements = 60, .data_max = 8, .pruned = seed % 5 == 0});
    const auto expected = run_sequentially(program);
    const shoal::FlowOptions options{.tasks_max = 1 + seed % 50,
                                     .scheduler = shoal::make_flow_scheduler(scheduler)};
    const std::string difference = run_flow_program(world, program, options, expected);
    require(difference.empty(), "seed {}, scheduler {}: {}", seed, scheduler, difference);
  }
}

int program(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  return run_with(arguments, [](World& world) { random_programs(world); });
}

const shoal::testing::JoinedProgram kProgram("flow_world_test", &program);

}  // namespace flow_world_test
