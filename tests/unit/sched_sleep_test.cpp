// Time, for tasks: in virtual time to the nanosecond, and on threads.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>

#include "runtime/simulated_world.hpp"
#include "support/refusal.hpp"
#include "support/sim_config.hpp"
#include "support/turn_world.hpp"
#include "support/wait_world.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sched_sleep_test {

using namespace std::chrono_literals;
using shoal::Promise;
using shoal::TaskError;
using shoal::World;
using shoal::runtime::SimulatedWorld;
using shoal::testing::error_of;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sim_config;
using shoal::testing::text_of;
using testing::HasSubstr;

/// A simulated world in which a step of a worker takes a nanosecond.
class VirtualTime : public testing::TestWithParam<int> {
 protected:
  VirtualTime() : world_(config()) {}
  template <class F>
  void run(F program) {
    world_.run([&](World& world) {
      program(world);
      return 0;
    });
    for (const auto& rank : world_.ranks()) {
      EXPECT_EQ(rank->error(), nullptr) << shoal::describe(rank->error());
    }
  }
  static shoal::runtime::Config config() {
    shoal::runtime::Config config = sim_config(1, GetParam(), 1);
    config.sim_step_ns = 1;
    return config;
  }
  SimulatedWorld world_;
};

INSTANTIATE_TEST_SUITE_P(Workers, VirtualTime, testing::Values(1, 2, 8),
                         testing::PrintToStringParamName());

constexpr std::uint64_t kSteps_ns = 2000;  // what the steps of many tasks take

TEST_P(VirtualTime, SleepersWakeInTheirOrderAtTheirTime) {
  constexpr int kTasks = 300;
  std::vector<std::uint64_t> late;
  std::vector<int> order;
  std::vector<int> milliseconds(kTasks);
  for (int i = 0; i < kTasks; ++i) milliseconds[static_cast<std::size_t>(i)] = i + 1;
  std::shuffle(milliseconds.begin(), milliseconds.end(), std::mt19937(1));
  run([&](World& world) {
    for (const int ms : milliseconds) {
      world.spawn([&, ms] {
        const std::uint64_t begin = world.now_ns();
        shoal::sleep_for(std::chrono::milliseconds(ms));
        late.push_back(world.now_ns() - begin - static_cast<std::uint64_t>(ms) * 1'000'000);
        order.push_back(ms);
      });
    }
    world.wait();
    EXPECT_GE(world.now_ns(), 300'000'000U);
    EXPECT_LE(world.now_ns(), 300'000'000U + kSteps_ns);
  });
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kTasks));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  for (const std::uint64_t ns : late) EXPECT_LE(ns, kSteps_ns);
}

TEST_P(VirtualTime, OfTheSameTime_WakeInTheOrderTheyFellAsleep) {
  std::vector<int> order;
  run([&](World& world) {
    if (world.worker_count() > 1) return;  // others may go on with them side by side
    for (int i = 0; i < 20; ++i) {
      world.spawn([&order, &world, i] {
        const std::uint64_t until = 1'000'000;
        shoal::sleep_for(std::chrono::nanoseconds(until - world.now_ns()));
        order.push_back(i);
      });
    }
    world.wait();
    EXPECT_EQ(order.size(), 20U);
  });
  // The worker's own tasks run last in, first out.
  EXPECT_TRUE(std::is_sorted(order.rbegin(), order.rend()));
}

TEST_P(VirtualTime, WhileAllSleep_NobodyIsBusy) {
  run([&](World& world) {
    for (int i = 0; i < 50; ++i) world.spawn([] { shoal::sleep_for(100s); });
    world.wait();
    EXPECT_GE(world.now_ns(), 100'000'000'000U);
  });
  // Steps take time, so those that were done show in the summary; none of them were idle ones in
  // great number.
  EXPECT_LE(world_.trace().count(), 5000U);
}

TEST_P(VirtualTime, MainFunctionSleeps_AndOthersGoOn) {
  int ran = 0;
  run([&](World& world) {
    for (int i = 0; i < 10; ++i) world.spawn([&ran] { ++ran; });
    shoal::sleep_for(1s);
    EXPECT_EQ(ran, 10);
    EXPECT_GE(world.now_ns(), 1'000'000'000U);
    shoal::sleep_for(0s);
    shoal::sleep_for(-1s);
    shoal::sleep_for(1ns);
    EXPECT_LE(world.now_ns(), 1'000'000'000U + kSteps_ns);
  });
}

// A sleeper keeps its world from ending, and from being called stuck.
TEST(Sleep, WithOthersThatWaitForIt_IsNotStuckInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    int got = 0;
    const auto result = run_turns({.seed = seed, .ranks = 3, .workers = 2}, [&](World& world) {
      Promise<int> promise;
      auto future = promise.future();
      if (world.rank() == 1) {
        world.spawn([&] { got = future.get(); });
        world.spawn([&] {
          shoal::sleep_for(5ms);
          promise.set_value(3);
        });
      }
      world.wait();
      EXPECT_EQ(got, 3) << "seed " << seed;
      if (world.rank() == 2) shoal::sleep_for(1ms);
      return 0;
    });
    for (const auto& error : result.errors) {
      EXPECT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
  }
}

TEST(Sleep, OnAThreadOrInAHandler_IsRefused) {
  std::thread([] {
    EXPECT_THAT(shoal::testing::refusal_of([] { shoal::sleep_for(1ms); }),
                HasSubstr("other threads have the function of the standard library"));
    EXPECT_THROW(shoal::yield(), shoal::CheckError);
  }).join();
  const std::string error = error_of([](World& world) {
    const auto message = world.make_am([] { shoal::sleep_for(1ms); });
    message.send(world.rank());
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("sleep_for"));
  EXPECT_THAT(error, HasSubstr("a handler must not"));
}

TEST(Sleep, OnThreads_LastsAtLeastSoLongAndLetsItsWorkerGoOn) {
  for (const int workers : {1, 2, 8}) {
    std::atomic<int> early{0};
    EXPECT_EQ(run_world(1, workers,
                        [&](World& world) {
                          for (int i = 0; i < 100; ++i) {
                            world.spawn([&, i] {
                              const std::chrono::milliseconds duration(1 + i % 20);
                              const auto begin = std::chrono::steady_clock::now();
                              shoal::sleep_for(duration);
                              early += std::chrono::steady_clock::now() - begin < duration ? 1 : 0;
                            });
                          }
                          world.wait();
                        }),
              0);
    EXPECT_EQ(early.load(), 0);
  }
}

// The worker that looks after the timers may be busy when an earlier one comes.
TEST(Sleep, OnThreads_EarlierTimersAreSeenWhileOthersWork) {
  EXPECT_EQ(run_world(1, 3,
                      [](World& world) {
                        std::atomic<bool> over{false};
                        world.spawn([&over] {
                          shoal::sleep_for(30ms);
                          over = true;
                        });
                        for (int i = 0; i < 2; ++i) {
                          world.spawn([&] {
                            for (int round = 0; round < 200 && !over; ++round) {
                              shoal::sleep_for(50us);
                              world.async([] {}).get();
                            }
                          });
                        }
                        world.wait();
                      }),
            0);
}

TEST(Sleep, ForEver_EndsWhenTheWorldFails) {
  const std::string text = text_of<TaskError>(1, 2, [](World& world) {
    world.spawn([] { shoal::sleep_for(std::chrono::hours::max()); });
    world.spawn([] { shoal::sleep_for(std::chrono::nanoseconds::max()); });
    world.spawn([] {
      shoal::sleep_for(2ms);
      throw std::runtime_error("woke up");
    });
    shoal::sleep_for(std::chrono::years(500));
  });
  EXPECT_THAT(text, HasSubstr("woke up"));
}

// --- yield

TEST_P(VirtualTime, Yield_LetsEveryReadyTaskRun) {
  run([&](World& world) {
    std::vector<int> rounds(10, 0);
    int furthest = 0;
    for (int& mine : rounds) {
      world.spawn([&] {
        for (int i = 0; i < 100; ++i) {
          ++mine;
          const auto [least, most] = std::ranges::minmax_element(rounds);
          if (*least > 0) furthest = std::max(furthest, *most - *least);
          shoal::yield();
        }
      });
    }
    world.wait();
    for (const int count : rounds) EXPECT_EQ(count, 100);
    if (GetParam() == 1) {
      EXPECT_LE(furthest, 3) << "one was preferred";
    }
  });
}

/// On each rank a task yields until something happens, like the main function; on the last one a
/// task throws instead.
void yield_for_ever(World& world, std::atomic<int>& cancelled) {
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  world.spawn([&] {
    begun = true;
    try {
      while (!done) shoal::yield();
    } catch (const shoal::CancelledError&) {
      ++cancelled;
      throw;
    }
  });
  while (!begun) shoal::yield();
  world.barrier();
  if (world.rank() == world.size() - 1) {
    world.spawn([] { throw std::runtime_error("instead of that"); });
  }
  while (!done) shoal::yield();
}

TEST(Yield, OfAWorldThatHasFailed_Throws) {
  for (const int workers : {1, 2, 8}) {
    std::atomic<int> cancelled{0};
    const std::string text =
        text_of<TaskError>(2, workers, [&](World& world) { yield_for_ever(world, cancelled); });
    EXPECT_THAT(text, HasSubstr("instead of that"));
    EXPECT_EQ(cancelled.load(), 2);
  }
}

TEST(Yield, OfAWorldThatHasFailed_ThrowsInEachOrder) {
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    std::atomic<int> cancelled{0};
    const auto result = run_turns({.seed = seed, .ranks = 2, .workers = 2}, [&](World& world) {
      EXPECT_THROW(yield_for_ever(world, cancelled), TaskError) << "seed " << seed;
      EXPECT_TRUE(world.core().failed());
      return 0;
    });
    for (const auto& error : result.errors) ASSERT_EQ(error, nullptr) << "seed " << seed;
    EXPECT_EQ(cancelled.load(), 2) << "seed " << seed;
  }
}

TEST(Yield, OfTheMainFunction_LetsTasksRun) {
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        std::atomic<bool> ran{false};
                        world.spawn([&ran] { ran = true; });
                        while (!ran) shoal::yield();
                      }),
            0);
}

}  // namespace sched_sleep_test
