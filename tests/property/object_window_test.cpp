// Random programs whose invocations fill the windows of their senders: none hangs, and each
// invocation runs once.

#include "support/object_worlds.hpp"
#include "support/sizes.hpp"
#include "support/window_program.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>

namespace object_window_property_test {

using shoal::World;
using shoal::testing::run_turns;
using shoal::testing::TurnResult;
using shoal::testing::WindowProgram;
using shoal::testing::WindowTally;

constexpr std::uint64_t kSeeds = shoal::testing::sized(6000, 100);

TEST(Windows, OfAFewInvocations_HangNoProgram) {
  int invoked = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    WindowTally tally;
    const TurnResult result = run_turns({.seed = seed,
                                         .ranks = 2 + static_cast<int>(seed / 3 % 4),
                                         .workers = 1 + static_cast<int>(seed % 2),
                                         .link = {.packet_bytes = 256, .window_bytes = 256}},
                                        [&](World& world) {
                                          WindowProgram(world, tally, seed).run();
                                          return 0;
                                        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
    ASSERT_EQ(tally.ran, tally.invoked) << "seed " << seed;
    invoked += tally.invoked;
  }
  EXPECT_GT(invoked, 50 * static_cast<int>(kSeeds));
}

}  // namespace object_window_property_test
