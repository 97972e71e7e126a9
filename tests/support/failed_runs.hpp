#pragma once
// Programs that end with an error, or without one, on threads and in the orders of many seeds.

#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <shoal/world.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace shoal::testing {

/// Output of a run to standard error, and its exit code.
struct Said {
  int code = 0;
  std::string text;
};

template <class Run>
Said said_by(Run run) {
  ::testing::internal::CaptureStderr();
  Said said;
  said.code = run();
  said.text = ::testing::internal::GetCapturedStderr();
  return said;
}

using Program = std::function<void(World&)>;

namespace detail {

inline void check_named(const Said& said, const std::vector<std::string>& parts,
                        const std::string& how) {
  EXPECT_EQ(said.code, 1) << how;
  for (const std::string& part : parts) EXPECT_THAT(said.text, ::testing::HasSubstr(part)) << how;
}

}  // namespace detail

/// Runs it in the orders of some seeds: each fails with a text of these parts.
inline void expect_named_in_simulations(const Program& program,
                                        const std::vector<std::string>& parts) {
  for (int seed = 1; seed <= sized_on_one_thread(50, 8); ++seed) {
    const Said said = said_by([&] {
      return run_with(
          {"--sim", "--ranks", "2", "--workers", "2", "--sim-seed", std::to_string(seed)}, program);
    });
    detail::check_named(said, parts, "seed " + std::to_string(seed));
  }
}

/// On threads as well.
inline void expect_named(const Program& program, const std::vector<std::string>& parts) {
  for (int i = 0; i < sized(20, 3); ++i) {
    detail::check_named(said_by([&] { return run_world(2, 2, program); }), parts, "on threads");
  }
  expect_named_in_simulations(program, parts);
}

/// The same for one that ends well.
inline void expect_well(const Program& program) {
  for (int i = 0; i < sized(20, 3); ++i) EXPECT_EQ(run_world(2, 2, program), 0);
  for (int seed = 1; seed <= sized_on_one_thread(20, 4); ++seed) {
    const Said said = said_by([&] {
      return run_with(
          {"--sim", "--ranks", "2", "--workers", "2", "--sim-seed", std::to_string(seed)}, program);
    });
    EXPECT_EQ(said.code, 0) << "seed " << seed << ": " << said.text;
  }
}

}  // namespace shoal::testing
