// A random program of invocations with more bytes than the windows of links have room for, for
// shoal-explore. Fails if it hangs, or an invocation does not run.
//
//   random_window_program --sim --sim-seed N [options of shoal]

#include <shoal/shoal.hpp>

#include "support/explored.hpp"
#include "support/window_program.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <stdexcept>

int main(int argc, char** argv) {
  const std::uint64_t seed =
      shoal::testing::seed_of(std::span<char*>(argv, static_cast<std::size_t>(argc)));
  shoal::testing::WindowTally tally;
  return shoal::run(argc, argv, [&](shoal::World& world) {
    if (world.launch() != shoal::Launch::simulated) {
      throw shoal::ConfigError("random_window_program has one tally without locks: use --sim");
    }
    shoal::testing::WindowProgram(world, tally, seed).run();
    if (tally.ran != tally.invoked) {
      throw std::logic_error(
          fmt::format("{} of {} invocations have run", tally.ran, tally.invoked));
    }
  });
}
