// A random program of global memory, for shoal-explore. Fails if a read does not give what was
// written before it, a signal comes before its data, or a cache keeps a copy that was invalidated.
//
//   random_memory_program --sim --sim-seed N [options of shoal]

#include <shoal/shoal.hpp>

#include "support/explored.hpp"
#include "support/memory_battery.hpp"
#include "support/memory_program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

using Checks = shoal::GlobalMemoryOptions::Checks;

int main(int argc, char** argv) {
  const std::uint64_t seed =
      shoal::testing::seed_of(std::span<char*>(argv, static_cast<std::size_t>(argc)));
  return shoal::run(argc, argv, [seed](shoal::World& world) {
    const Checks checks = seed % 4 == 0 ? Checks::on : Checks::off;
    {
      shoal::GlobalMemory memory(world, shoal::testing::battery_options(checks));
      shoal::testing::signals(world, memory);
      shoal::testing::signals_behind_much(world, memory);
      shoal::testing::late_answers(world, memory);
      world.wait();
    }
    shoal::testing::run_memory_program(world, seed, checks);
  });
}
