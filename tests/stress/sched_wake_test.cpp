// Workers that go to sleep all the time: a wake-up that is lost is a hang.

#include <shoal/detail/sched/scheduler.hpp>

#include "sched/memory_bound.hpp"
#include "support/scheduler_run.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace sched_wake_test {

using shoal::testing::SchedulerRun;
using shoal::testing::sized;
using shoal::testing::small_stacks;

class Wake : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int workers() { return GetParam(); }
  /// Workers that sleep as soon as they may.
  [[nodiscard]] static shoal::sched::SchedulerOptions sleepy() {
    auto options = small_stacks(workers());
    options.oversubscribed = true;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, Wake, testing::Values(1, 2, 8, 64),
                         testing::PrintToStringParamName());

TEST_P(Wake, OneTaskAtATime_IsAlwaysNoticed) {
  constexpr int kRounds = sized(1000, 200);
  std::atomic<int> ran{0};
  SchedulerRun run(sleepy());
  for (int round = 0; round < kRounds; ++round) {
    const auto task = [&ran] {
      ++ran;
      ran.notify_one();
    };
    if (round % 3 == 0) {
      run.submit(task, {.worker = round % workers(), .bound = true});
    } else {
      run.submit(task, {.priority = round % 2});
    }
    ran.wait(round);
  }
  EXPECT_EQ(ran, kRounds);
}

TEST_P(Wake, SeveralForeignThreads_AreAllServed) {
  constexpr int kThreads = 3;
  constexpr int kRounds = sized(500, 100);
  std::vector<std::atomic<int>> counts(kThreads);
  SchedulerRun run(sleepy());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&run, &ran = counts[static_cast<std::size_t>(t)], t] {
      for (int round = 0; round < kRounds; ++round) {
        run.submit(
            [&ran] {
              ++ran;
              ran.notify_one();
            },
            {.worker = (round + t) % workers(), .bound = round % 2 == 0});
        ran.wait(round);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  run.finish();
  for (const auto& ran : counts) EXPECT_EQ(ran, kRounds);
}

TEST_P(Wake, TasksOfTwoSchedulers_SubmitToEachOther) {
  constexpr int kChains = 4;
  constexpr int kHops = sized(1000, 200);
  SchedulerRun first(sleepy());
  SchedulerRun second(sleepy());
  std::atomic<int> ended{0};
  std::vector<int> hops(kChains, 0);  // plain memory: each hand-over orders it
  std::function<void(int)> hop = [&](int chain) {
    int& count = hops[static_cast<std::size_t>(chain)];
    if (++count == kHops) {
      ++ended;
      ended.notify_one();
      return;
    }
    SchedulerRun& next = count % 2 == 0 ? first : second;
    next.submit([&hop, chain] { hop(chain); },
                {.worker = count % workers(), .bound = count % 3 == 0});
  };
  for (int chain = 0; chain < kChains; ++chain) first.submit([&hop, chain] { hop(chain); });
  for (int seen = ended; seen < kChains; seen = ended) ended.wait(seen);
  first.finish();
  second.finish();
  for (const int count : hops) EXPECT_EQ(count, kHops);
}

TEST_P(Wake, LookAgain_IsAlwaysNoticed) {
  constexpr int kRounds = sized(1000, 200);
  SchedulerRun run(sleepy());
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t seen = run.progress().idle_count();
    run.scheduler().look_again();
    run.progress().await_change(seen);
  }
}

TEST_P(Wake, Stop_AtAnyMoment_EndsAllWorkers) {
  for (int round = 0; round < sized(50, 20); ++round) {
    SchedulerRun run(sleepy());
    for (int i = 0; i < round; ++i) run.submit([] {}, {.worker = i % workers()});
    run.stop();
  }
}

/// The largest number of tasks that ran at once.
class Crowd {
 public:
  void pass() {
    const int now = ++running_;
    for (int seen = most_; now > seen && !most_.compare_exchange_weak(seen, now);) {
    }
    --running_;
  }
  [[nodiscard]] int most() const { return most_; }

 private:
  std::atomic<int> running_{0};
  std::atomic<int> most_{0};
};

// A task that is held back and not taken up again is a hang.
TEST_P(Wake, MemoryBoundTasksBesideTransfers_AllRun_AndTheLimitHolds) {
  using shoal::sched::TaskKind;
  constexpr int kTasks = sized(2000, 300);
  constexpr int kMost = 2;
  auto options = sleepy();
  options.memory_bound = std::make_shared<shoal::sched::MemoryBoundLimit>(kMost);
  shoal::sched::MemoryBoundLimit& limit = *options.memory_bound;
  std::atomic<int> ran{0};
  SchedulerRun run(options);
  const auto submit_all = [&](Crowd& crowd) {
    for (int i = 0; i < kTasks; ++i) {
      run.submit([&] { crowd.pass(), ++ran; }, {.priority = i % 3,
                                                .worker = i % workers(),
                                                .bound = i % 5 == 0,
                                                .kind = TaskKind::memory_bound});
      if (i % 4 == 0) run.submit([&] { ++ran; });
    }
    run.finish();
  };
  limit.begin_transfer();
  Crowd crowd;
  submit_all(crowd);
  EXPECT_LE(crowd.most(), kMost);
  std::atomic<bool> stop{false};
  std::thread transfers([&] {  // that come and go
    while (!stop) {
      limit.end_transfer();
      std::this_thread::yield();
      limit.begin_transfer();
    }
  });
  Crowd free_crowd;
  submit_all(free_crowd);
  stop = true;
  transfers.join();
  EXPECT_EQ(ran, 2 * (kTasks + (kTasks + 3) / 4));
  const auto state = limit.state(run.scheduler());
  EXPECT_EQ(state.held, 0U);
  EXPECT_EQ(state.running, 0);
  EXPECT_EQ(state.transfers, 1);
}

}  // namespace sched_wake_test
