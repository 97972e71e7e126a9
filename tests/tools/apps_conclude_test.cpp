// Exit code of the programs that check their result, which all return that of apps::conclude().

#include "common/conclude.hpp"
#include "support/run_world.hpp"

#include <gtest/gtest.h>

namespace apps_conclude_test {

TEST(Conclude, AWrongResultOfOneRank_IsTheExitCodeOfAll) {
  for (const int wrong_rank : {-1, 0, 2}) {
    const int code = shoal::testing::run_world(3, 1, [&](shoal::World& world) {
      const int own = apps::conclude(world, world.rank() != wrong_rank, "a line");
      const int timed = apps::conclude(world, world.rank() != wrong_rank, "a line", 0.5, "");
      EXPECT_EQ(own, wrong_rank < 0 ? 0 : 1);
      EXPECT_EQ(timed, own);
      return own;
    });
    EXPECT_EQ(code, wrong_rank < 0 ? 0 : 1);
  }
}

}  // namespace apps_conclude_test
