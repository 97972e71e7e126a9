// A random program of invocations on distributed objects, for shoal-explore. Fails if their order
// is not causal, or two run at a time on one rank.
//
//   random_object_program --sim --sim-seed N [options of shoal]

#include <shoal/shoal.hpp>

#include "support/causal_log.hpp"
#include "support/explored.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::uint64_t seed =
      shoal::testing::seed_of(std::span<char*>(argv, static_cast<std::size_t>(argc)));
  shoal::testing::CausalLog log;
  return shoal::run(argc, argv, [&](shoal::World& world) {
    if (world.launch() != shoal::Launch::simulated) {
      throw shoal::ConfigError("random_object_program has one log without locks: use --sim");
    }
    shoal::testing::walk(world, log, seed);
    const std::vector<std::string> violations = log.violations();
    if (!violations.empty()) throw std::logic_error("causal order: " + violations.front());
  });
}
