// Many suspended tasks.

#include <shoal/detail/sched/scheduler.hpp>

#include "support/scheduler_run.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sched_suspend_test {

using shoal::sync::Waiter;
using shoal::testing::Parking;
using shoal::testing::SchedulerRun;
using shoal::testing::sized;
using shoal::testing::small_stacks;

class Suspended : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int workers() { return GetParam(); }
  static unsigned new_seed() {
    const unsigned seed = std::random_device()();
    std::printf("seed %u\n", seed);
    return seed;
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, Suspended, testing::Values(1, 2, 8, 64),
                         testing::PrintToStringParamName());

TEST_P(Suspended, ThousandsOfTasks_ResumedInRandomOrder_GoOnOnTheirWorkers) {
  constexpr int kTasks = sized(4000, 500);
  const unsigned seed = new_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  SchedulerRun run(small_stacks(workers()));
  Parking parking(run.env());
  std::atomic<int> ended{0};
  std::atomic<int> wrong{0};
  for (int i = 0; i < kTasks; ++i) {
    run.submit(
        [&, i] {
          std::string mine = "what task " + std::to_string(i) + " keeps on its stack";
          const int slot = run.scheduler().count_slot();
          for (int stop = 0; stop < 2; ++stop) {
            parking.stand();
            if (run.scheduler().count_slot() != slot) ++wrong;
          }
          if (mine != "what task " + std::to_string(i) + " keeps on its stack") ++wrong;
          ++ended;
        },
        {.priority = i % 2});
  }
  for (int stop = 1; stop <= 2; ++stop) {
    parking.await(stop * kTasks);  // all stand still at the same time
    std::vector<Waiter*> waiters = parking.take();
    ASSERT_EQ(waiters.size(), static_cast<std::size_t>(kTasks));
    std::shuffle(waiters.begin(), waiters.end(), random);
    for (Waiter* waiter : waiters) waiter->wake();
  }
  run.finish();
  EXPECT_EQ(ended, kTasks);
  EXPECT_EQ(wrong, 0);
}

TEST_P(Suspended, TasksThatWakeEachOther_ThrowAndSpawn_AllEnd) {
  constexpr int kTasks = sized(300, 60);
  constexpr int kRounds = sized(50, 10);
  const unsigned seed = new_seed();
  SCOPED_TRACE(seed);
  SchedulerRun run(small_stacks(workers()));
  Parking parking(run.env());
  std::atomic<int> ended{0};
  std::atomic<int> spawned{0};
  for (int i = 0; i < kTasks; ++i) {
    run.submit([&, i] {
      std::minstd_rand random(seed + static_cast<unsigned>(i));
      for (int round = 0; round < kRounds; ++round) {
        try {
          throw std::runtime_error(std::to_string(i * kRounds + round));
        } catch (const std::runtime_error& error) {
          if (random() % 2 == 0) {
            run.submit([&spawned, &parking] {
              ++spawned;
              parking.wake_all();
            });
            parking.stand();
          } else {
            parking.wake_all();
          }
          EXPECT_EQ(error.what(), std::to_string(i * kRounds + round));
        }
      }
      ++ended;
    });
  }
  // Wakes the tasks that are parked when the last spawned task has run.
  while (ended < kTasks) {
    parking.wake_all();
    std::this_thread::yield();
  }
  run.finish();
  EXPECT_TRUE(run.scope().failures().empty());
}

TEST_P(Suspended, ForeignThreadsAndTasks_HandAnItemToAndFro) {
  constexpr int kPairs = 4;
  constexpr int kRounds = sized(1000, 200);
  SchedulerRun run(small_stacks(workers()));
  std::vector<std::thread> threads;
  std::vector<int> sums(kPairs, 0);  // plain memory: each hand-over orders it
  for (int pair = 0; pair < kPairs; ++pair) {
    threads.emplace_back([&, pair] {
      int& sum = sums[static_cast<std::size_t>(pair)];
      for (int round = 0; round < kRounds; ++round) {
        shoal::sched::block(run.env(), "block", [&](Waiter& foreign) {
          run.submit([&sum, &foreign, &run] {
            ++sum;
            shoal::sched::block(run.env(), "block", [&](Waiter& task) {
              run.submit([&sum, &task] {
                ++sum;
                task.wake();
              });
              return true;
            });
            ++sum;
            foreign.wake();
          });
          return true;
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  run.finish();
  for (const int sum : sums) EXPECT_EQ(sum, 3 * kRounds);
}

}  // namespace sched_suspend_test
