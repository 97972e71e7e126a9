#pragma once
// Programs of distributed objects on simulated ranks, in many orders.

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <string>

namespace shoal::testing {

inline constexpr std::uint64_t kObjectSeeds = 40;

/// Runs `program` on so many ranks with many seeds, and gives the error of each rank, or nullptr,
/// to `check`, up to the first one in which an assertion fails.
template <class F, class Check>
void check_object_worlds(int ranks, std::uint64_t seeds, F program, Check check) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const TurnResult result =
        run_turns({.seed = seed, .ranks = ranks, .workers = 1 + static_cast<int>(seed % 3)},
                  [&](World& world) {
                    program(world);
                    return 0;
                  });
    for (const std::exception_ptr& error : result.errors) {
      check(error, seed);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Runs `program` on so many ranks with many seeds; each rank must end well.
template <class F>
void in_object_worlds(int ranks, F program, std::uint64_t seeds = kObjectSeeds) {
  check_object_worlds(ranks, seeds, program,
                      [](const std::exception_ptr& error, std::uint64_t seed) {
                        ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
                      });
}

/// The error of rank 0 of a program that must fail, for one seed.
template <class F>
std::string object_error(int ranks, std::uint64_t seed, F program) {
  const TurnResult result =
      run_turns({.seed = seed, .ranks = ranks, .workers = 1}, [&](World& world) {
        program(world);
        return 0;
      });
  return result.errors[0] == nullptr ? "" : describe(result.errors[0]);
}

}  // namespace shoal::testing
