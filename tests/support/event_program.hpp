#pragma once
// Shared by the tests of Events.

#include <shoal/world.hpp>

#include "support/refusal.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace shoal::testing {

inline void expect_runs(const std::function<void(World&)>& program) {
  EXPECT_EQ(error_of(program), "");
}

/// On worlds of two ranks, in one process and in two: there events travel as bytes.
inline void expect_two_ranks_run(const std::function<void(World&)>& program) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 2, .workers = 2}, [&](World& world) {
      program(world);
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
    }
  }
}

}  // namespace shoal::testing
