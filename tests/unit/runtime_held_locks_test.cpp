// Exceptions that are thrown in main functions by code of shoal that has locks.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/held_locks.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/shoal.hpp>

#include "support/failed_runs.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>

namespace runtime_held_locks_test {

using shoal::Rank;
using shoal::World;
using shoal::testing::expect_named;
using shoal::testing::run_with;
using shoal::testing::run_world;
using shoal::testing::Said;
using shoal::testing::said_by;
using testing::HasSubstr;

TEST(HeldLocks, AThrowInLocked_LeavesTheLockBeforeTheMainFunctionIsLookedAt) {
  for (const bool simulated : {false, true}) {
    shoal::sync::Mutex mutex;
    std::atomic<int> got{0};
    const auto program = [&](World& world) {
      for (int i = 0; i < 10; ++i) {
        world.spawn([&] {
          const shoal::sync::Lock lock(mutex);
          ++got;
        });
      }
      shoal::sync::locked(mutex, [&] {
        if (world.rank() == 0) throw shoal::Error("thrown with a lock");
      });
    };
    const Said said = said_by([&] {
      return simulated ? run_with({"--sim", "--ranks", "1"}, program) : run_world(1, 2, program);
    });
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.text, HasSubstr("thrown with a lock"));
    const bool is_free = mutex.try_lock();
    EXPECT_TRUE(is_free);
    if (is_free) mutex.unlock();
  }
}

TEST(HeldLocks, OfALateMember_MismatchedCollectives_AreNamed) {
  for (const bool later : {false, true}) {
    expect_named(
        [later](World& world) {
          if (world.rank() == 1) shoal::sleep_for(std::chrono::milliseconds(5));
          if (world.rank() == 0) {
            if (later) static_cast<void>(world.allreduce_async(1, std::plus<>()).get());
            static_cast<void>(world.allreduce(1, std::plus<>()));
          } else {
            if (later) static_cast<void>(world.allgather_async(1).get());
            static_cast<void>(world.allgather(1));
          }
        },
        {"collective number 1 is", "allreduce() of int by std::plus on rank 0",
         "allgather() of int on rank 1"});
  }
}

// The end of a pruned flow looks at the transfers, under their lock.
TEST(HeldLocks, OfTheTransfersOfAPrunedFlow_AreFreeWhereItsCheckFails) {
  expect_named(
      [](World& world) {
        shoal::Flow flow(world, "short", {.pruned = true});
        const auto x = flow.data<int>(1, {.name = "x"});
        const auto y = flow.data<int>(0, {.owner = Rank(1), .name = "y"});
        if (world.rank() == 0) {
          flow.insert([](const int& from, int& to) { to = from; }, shoal::read(x),
                      shoal::read_write(y));
        }
      },
      {"flow 'short': rank 0 has sent value 1 of 'x' to rank 1"});
}

TEST(HeldLocks, ACheckThatFailsWithOne_EndsSanitizedPrograms) {
  if (!shoal::detail::kCountsLocks) GTEST_SKIP() << "locks are counted under sanitizers only";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  shoal::sync::Mutex mutex;
  const auto fail = [&] {
    const shoal::sync::Lock lock(mutex);
    SHOAL_CHECK(false, "wrong");
  };
  EXPECT_DEATH(fail(), "a check fails while the thread holds 1 locks of shoal: wrong");
}

}  // namespace runtime_held_locks_test
