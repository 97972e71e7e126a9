// Rounding mode and flush-to-zero of a task: they are its own, also across waits.

#include <shoal/shoal.hpp>

#include "runtime/simulated_world.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <functional>

namespace sched_float_control_test {

using namespace std::chrono_literals;

using shoal::World;
using shoal::runtime::SimulatedWorld;
using shoal::testing::run_world;
using shoal::testing::sim_config;

#if defined(__x86_64__)
constexpr std::uint32_t kFlush = 0x8040;  // flush-to-zero, and denormals are zero
void set_flush(bool on) {
  const std::uint32_t rest = __builtin_ia32_stmxcsr() & ~kFlush;
  __builtin_ia32_ldmxcsr(on ? rest | kFlush : rest);
}
bool flushes() { return (__builtin_ia32_stmxcsr() & kFlush) != 0; }
#else
void set_flush(bool) {}
bool flushes() { return false; }
#endif

void change() {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  set_flush(true);
}
void change_back() {
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  set_flush(false);
}
bool is_changed() { return std::fegetround() == FE_UPWARD; }
bool is_plain() { return std::fegetround() == FE_TONEAREST && !flushes(); }

/// Runs it in simulated worlds, and on threads.
void run_everywhere(int ranks, int workers, const std::function<void(World&)>& program) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedWorld simulated(sim_config(ranks, workers, seed));
    simulated.run([&](World& world) {
      program(world);
      return 0;
    });
    for (const auto& rank : simulated.ranks()) ASSERT_EQ(rank->error(), nullptr) << seed;
    ASSERT_FALSE(testing::Test::HasFailure()) << seed;
  }
  EXPECT_EQ(run_world(ranks, workers, program), 0);
  EXPECT_TRUE(is_plain());
}

TEST(FloatControl, ThatATaskLeavesBehind_DoesNotReachTheNextOnes) {
  for (const int workers : {1, 2}) {
    run_everywhere(1, workers, [](World& world) {
      for (int i = 0; i < 200; ++i) {
        world.spawn([] {
          EXPECT_TRUE(is_plain());
          change();
        });
      }
      world.wait();
      EXPECT_TRUE(is_plain());
    });
  }
}

// New stacks are made as the first ones wait, in tasks that have changed it.
TEST(FloatControl, OfATask_IsItsOwnAcrossWaits) {
  for (const int workers : {1, 2}) {
    run_everywhere(1, workers, [](World& world) {
      for (int i = 0; i < 50; ++i) {
        world.spawn([i] {
          EXPECT_TRUE(is_plain());
          if (i % 2 == 0) change();
          for (int round = 0; round < 3; ++round) {
            round % 2 == 0 ? shoal::yield() : shoal::sleep_for(1us);
            EXPECT_EQ(is_changed(), i % 2 == 0);
          }
        });
      }
      world.wait();
    });
  }
}

TEST(FloatControl, OfATaskThatWaits_IsNotThatOfTasksOnItsStack) {
  run_everywhere(1, 1, [](World& world) {
    world.spawn([&world] {
      change();
      const int result = world
                             .async([] {
                               EXPECT_TRUE(is_plain());
                               std::fesetround(FE_DOWNWARD);
                               return 42;
                             })
                             .get();
      EXPECT_EQ(result, 42);
      EXPECT_TRUE(is_changed());
    });
    world.wait();
  });
}

TEST(FloatControl, OfTheMainFunction_IsItsOwn) {
  run_everywhere(1, 2, [](World& world) {
    change();
    for (int i = 0; i < 20; ++i) world.spawn([] { EXPECT_TRUE(is_plain()); });
    world.wait();
    EXPECT_TRUE(is_changed());
    world.async([] { EXPECT_TRUE(is_plain()); }).get();
    EXPECT_TRUE(is_changed());
  });
}

TEST(FloatControl, OfHandlers_IsNotThatOfTasks) {
  run_everywhere(2, 1, [](World& world) {
    std::atomic<int> handled{0};
    const auto tell = world.make_am([&handled](int) {
      EXPECT_NE(std::fegetround(), FE_DOWNWARD);
      change();
      ++handled;
    });
    for (int i = 0; i < 50; ++i) {
      world.spawn([&tell, other = shoal::Rank(1 - world.rank())] {
        EXPECT_TRUE(is_plain());
        std::fesetround(FE_DOWNWARD);
        tell.send(other, 1);
        shoal::yield();
        EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
      });
    }
    world.wait();
    EXPECT_TRUE(is_plain());
    EXPECT_EQ(handled, 50);
  });
}

TEST(FloatControl, OfTheCallerOfRun_IsThatOfAllTasks) {
  change();
  EXPECT_EQ(run_world(2, 2,
                      [](World& world) {
                        EXPECT_TRUE(is_changed());
                        for (int i = 0; i < 50; ++i) {
                          world.spawn([] {
                            EXPECT_TRUE(is_changed());
                            change_back();
                            shoal::yield();
                            EXPECT_TRUE(is_plain());
                          });
                        }
                        world.wait();
                        EXPECT_TRUE(is_changed());
                      }),
            0);
  EXPECT_TRUE(is_changed());
  change_back();
}

}  // namespace sched_float_control_test
