#pragma once
// One program in simulated worlds of many seeds.

#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>

namespace shoal::testing {

inline constexpr std::uint64_t kSeeds = sized_on_one_thread(40, 10);

/// Runs `program` on so many ranks with kSeeds seeds; each rank must end well.
template <class F>
void in_many_worlds(int ranks, F program) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TurnResult result =
        run_turns({.seed = seed, .ranks = ranks, .workers = 1 + static_cast<int>(seed % 2)},
                  [&](World& world) {
                    program(world);
                    return 0;
                  });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
    }
  }
}

}  // namespace shoal::testing
