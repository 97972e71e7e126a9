#pragma once
// One program in many orders, for tests of what waits.

#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <shoal/world.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace shoal::testing {

/// `program` on one rank, with 1 to 4 workers. Each has to end well.
template <class F>
void in_many_orders(F program) {
  for (std::uint64_t seed = 0; seed < std::uint64_t{sized_on_one_thread(150, 15)}; ++seed) {
    const auto result = run_turns(
        {.seed = seed, .ranks = 1, .workers = 1 + static_cast<int>(seed % 4)}, [&](World& world) {
          program(world);
          return 0;
        });
    ASSERT_EQ(result.errors[0], nullptr) << "seed " << seed << ": " << describe(result.errors[0]);
  }
}

}  // namespace shoal::testing
