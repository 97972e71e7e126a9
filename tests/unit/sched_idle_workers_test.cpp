// Idle workers beside other programs that compute.

#include <shoal/detail/sched/idle_workers.hpp>

#include "sched/idle_worker.hpp"
#include "sched/task_queues.hpp"
#include "sched/worker_activity.hpp"
#include "support/slow_yields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace sched_idle_workers_test {

using shoal::WorkerId;
using namespace shoal::sched;  // NOLINT(google-build-using-namespace): what is tested

struct NoProgress final : Progress {
  bool poll(bool /*idle*/) override { return false; }
  [[nodiscard]] bool looks_busy() const override { return false; }
  [[nodiscard]] bool must_poll(WorkerId /*worker*/) const override { return true; }
  [[nodiscard]] bool is_streaming() const override { return streams; }
  bool on_idle() override { return false; }

  bool streams = false;
};

struct NoSleep final : shoal::env::Parker {
  explicit NoSleep(std::vector<std::uint64_t>& all) : timeouts_ns(all) {}
  void park(std::uint64_t timeout_ns) override { timeouts_ns.push_back(timeout_ns); }
  void unpark() override {}

  std::vector<std::uint64_t>& timeouts_ns;
};

constexpr std::uint64_t kMs = 1'000'000;

class IdleWorkersTest : public ::testing::TestWithParam<bool> {
 protected:
  /// Rounds of an idle worker until it sleeps.
  unsigned rounds_until_sleep(bool must_poll) {
    me_.rounds = 0;
    while (true) {
      ++me_.rounds;
      if (!workers_.pause(me_, progress_, must_poll)) return me_.rounds;
    }
  }

  shoal::testing::SlowYields env_;
  NoProgress progress_;
  TaskQueues::All all_;
  TaskQueues queues_{all_, WorkerId(0), 0};
  WorkerActivity activity_;
  IdleWorkers workers_{env_, GetParam()};
  std::vector<std::uint64_t> sleeps_ns_;
  IdleWorker me_{WorkerId(0), queues_, activity_, std::make_unique<NoSleep>(sleeps_ns_)};
};

TEST_P(IdleWorkersTest, ShortYields_AreAllMade) {
  env_.yield_ns = 500;
  EXPECT_GT(rounds_until_sleep(true), 500U);
  EXPECT_GT(env_.yields, 500);
}

// Others poll too, or a poll looks at many sockets.
TEST_P(IdleWorkersTest, YieldsThatTakeLonger_EndAfterHalfAMillisecond) {
  env_.yield_ns = 20'000;
  rounds_until_sleep(true);
  EXPECT_EQ(env_.yields, 1 + 25);  // counted from the end of the first one
  // The listener is asked before the worker sleeps.
  env_.yields = 0;
  env_.yield_ns = kMs;
  rounds_until_sleep(true);
  EXPECT_EQ(env_.yields, GetParam() ? static_cast<int>(IdleWorker::kAskAfterRounds) + 1 : 2);
}

TEST_P(IdleWorkersTest, Sleeps_AreShortAtFirst) {
  rounds_until_sleep(true);
  for (int i = 0; i < 50; ++i) {
    workers_.fall_asleep(me_, progress_, true, false);
    workers_.wake_up(me_);
    ++me_.rounds;
  }
  ASSERT_EQ(sleeps_ns_.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(sleeps_ns_));
  EXPECT_EQ(sleeps_ns_.front(), 20'000U);
  EXPECT_EQ(sleeps_ns_.back(), 500'000U);
}

TEST_P(IdleWorkersTest, LongYields_AreTwo_AndThenTheWorkerSleeps) {
  env_.yield_ns = 4 * kMs;
  // Else it would sleep before it has asked its listener, and completion would not be found.
  EXPECT_GT(rounds_until_sleep(true), IdleWorker::kAskAfterRounds);
  EXPECT_EQ(env_.yields, 2);
  EXPECT_GT(rounds_until_sleep(true), IdleWorker::kAskAfterRounds);
  EXPECT_GT(rounds_until_sleep(false), IdleWorker::kAskAfterRounds);
  EXPECT_EQ(env_.yields, 2);
  EXPECT_EQ(workers_.pause_in_task(1, true), !GetParam());  // spins where it has a core
  // After a while it tries again: once is enough.
  env_.pass(200 * kMs);
  rounds_until_sleep(true);
  EXPECT_EQ(env_.yields, 3);
  env_.pass(200 * kMs);
  env_.yield_ns = 1000;
  EXPECT_GT(rounds_until_sleep(true), 500U);
}

TEST_P(IdleWorkersTest, OneLongYield_IsATaskOfAnotherProcess) {
  env_.yield_ns = 4 * kMs;
  me_.rounds = 100;
  EXPECT_TRUE(workers_.pause(me_, progress_, true));
  env_.yield_ns = 1000;
  EXPECT_GT(rounds_until_sleep(true), 500U);
}

// Else it would keep its processor, which the other end of the payload needs.
TEST_P(IdleWorkersTest, WhilePayloadsMove_OthersHaveTheirTurnAllTheSame) {
  env_.yield_ns = 4 * kMs;
  rounds_until_sleep(true);
  progress_.streams = true;
  me_.rounds = 600;
  int sleeps = 0;
  for (int i = 0; i < 200; ++i) {
    ++me_.rounds;
    if (!workers_.pause(me_, progress_, true)) ++sleeps;
  }
  EXPECT_GT(sleeps, 20);
  EXPECT_LT(sleeps, 100);  // between sleeps it polls several times
  EXPECT_EQ(env_.yields, 2);
}

INSTANTIATE_TEST_SUITE_P(OwnCoresOrNot, IdleWorkersTest, ::testing::Values(false, true));

}  // namespace sched_idle_workers_test
