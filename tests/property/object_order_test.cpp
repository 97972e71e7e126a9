// Causal order of invocations (STAPL-RTS thesis, definition 6): random programs record what
// happened before what, and a checker looks for violations.

#include "support/causal_log.hpp"
#include "support/object_worlds.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using shoal::World;
using shoal::testing::CausalLog;
using shoal::testing::run_turns;
using shoal::testing::TurnResult;

constexpr std::uint64_t kSeeds = shoal::testing::kSanitized ? 400 : 10000;

std::vector<std::string> violations_of(std::uint64_t seed, bool unordered) {
  CausalLog log;
  const TurnResult result = run_turns({.seed = seed,
                                       .ranks = 2 + static_cast<int>(seed % 4),
                                       .workers = 1 + static_cast<int>(seed % 2)},
                                      [&](World& world) {
                                        shoal::testing::walk(world, log, seed, unordered);
                                        return 0;
                                      });
  for (const std::exception_ptr& error : result.errors) {
    EXPECT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
  }
  return log.violations();
}

TEST(CausalOrder, HoldsInRandomPrograms) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<std::string> lines = violations_of(seed, false);
    ASSERT_TRUE(lines.empty()) << "seed " << seed << ": " << lines.front();
  }
}

TEST(CausalOrder, ItsCheckerFindsInvocationsWithoutAnOrder) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    found += violations_of(seed, true).empty() ? 0 : 1;
  }
  EXPECT_GT(found, 10);
}

}  // namespace
