#pragma once
// Runs a program in virtual time, whose steps take a nanosecond: waits end at their times.

#include <shoal/error.hpp>
#include <shoal/world.hpp>

#include <gtest/gtest.h>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"

#include <cstdint>

namespace shoal::testing {

/// Runs `program` in simulated worlds of this many ranks, with 1 and 2 workers each.
template <class F>
void in_virtual_time(F program, int ranks = 1) {
  for (const int workers : {1, 2}) {
    runtime::Config config = sim_config(ranks, workers, 1);
    config.sim_step_ns = 1;
    runtime::SimulatedWorld world(config);
    world.run([&](World& rank) {
      program(rank);
      return 0;
    });
    for (const auto& rank : world.ranks()) {
      EXPECT_EQ(rank->error(), nullptr) << describe(rank->error());
    }
  }
}

/// Virtual time that a few steps take.
inline constexpr std::uint64_t kFewSteps_ns = 100;

}  // namespace shoal::testing
