#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/error.hpp>
#include <shoal/sleep.hpp>

#include "sched/inspector.hpp"
#include "support/scheduler_run.hpp"
#include "support/sizes.hpp"
#include "support/turn_env.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sched_scheduler_test {

using shoal::WorkerId;
using shoal::sched::Task;
using shoal::testing::EnvOwner;
using shoal::testing::make_task;
using shoal::testing::SchedulerParts;
using shoal::testing::SchedulerRun;
using shoal::testing::sized;
using shoal::testing::small_stacks;
using shoal::testing::TaskSettings;

class Scheduler : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int workers() { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Workers, Scheduler, testing::Values(1, 2, 8, 64),
                         testing::PrintToStringParamName());

/// How often each task ran.
class RunCounts {
 public:
  explicit RunCounts(int tasks) : counts_(static_cast<std::size_t>(tasks)) {}
  void count(int task) { counts_[static_cast<std::size_t>(task)].fetch_add(1); }
  [[nodiscard]] bool all_once() const {
    return std::all_of(counts_.begin(), counts_.end(),
                       [](const std::atomic<int>& count) { return count.load() == 1; });
  }

 private:
  std::vector<std::atomic<int>> counts_;
};

TEST_P(Scheduler, TasksOfForeignThreads_EachRunOnce) {
  constexpr int kThreads = 4;
  constexpr int kEach = sized(2000, 300);
  RunCounts counts(kThreads * kEach);
  SchedulerRun run(workers());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        run.submit([&counts, id = t * kEach + i] { counts.count(id); }, {.priority = i % 3 - 1});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  run.finish();
  EXPECT_TRUE(counts.all_once());
  EXPECT_EQ(run.scheduler().inspector().tasks_run(), std::uint64_t{kThreads} * kEach);
}

TEST_P(Scheduler, TasksSpawnedByTasks_EachRunOnce) {
  constexpr int kTasks = sized(20'000, 3000);
  constexpr int kFan = 3;
  RunCounts counts(kTasks);
  SchedulerRun run(workers());
  std::function<void(int)> spawn = [&](int id) {
    counts.count(id);
    for (int child = id * kFan + 1; child <= id * kFan + kFan && child < kTasks; ++child) {
      const int worker = child % 5 == 0 ? child % workers() : Task::kAnyWorker;
      run.submit([&spawn, child] { spawn(child); },
                 {.priority = child % 4 == 0 ? child % 7 : 0, .worker = worker});
    }
  };
  run.submit([&spawn] { spawn(0); });
  run.finish();
  EXPECT_TRUE(counts.all_once());
}

TEST_P(Scheduler, BoundTasks_RunOnTheirWorkerOnly) {
  constexpr int kTasks = sized(2000, 300);
  RunCounts counts(2 * kTasks);
  std::atomic<int> misplaced{0};
  SchedulerRun run(workers());
  for (int id = 0; id < kTasks; ++id) {
    const int home = id % workers();
    run.submit(
        [&, id, home] {
          counts.count(id);
          if (run.scheduler().count_slot() != home) ++misplaced;
          const int next_home = (id * 7) % workers();  // and from another worker
          run.submit(
              [&, id, next_home] {
                counts.count(kTasks + id);
                if (run.scheduler().count_slot() != next_home) ++misplaced;
              },
              {.worker = next_home, .bound = true});
        },
        {.priority = id % 2, .worker = home, .bound = true});
  }
  run.finish();
  EXPECT_EQ(misplaced, 0);
  EXPECT_TRUE(counts.all_once());
}

TEST_P(Scheduler, ThrowingTask_LeavesItsErrorAndFailsTheScope) {
  for (const bool is_standard : {true, false}) {
    SchedulerRun run(workers());
    run.submit(
        [is_standard] {
          if (is_standard) throw std::runtime_error("text 7");
          throw 7;
        },
        {.name = "task 7"});
    run.finish();
    EXPECT_TRUE(run.scope().failed());
    EXPECT_EQ(run.scope().left_errors(), 1);
    EXPECT_THAT(
        run.scope().failures(),
        testing::ElementsAre(testing::StartsWith(is_standard ? "task 7: text 7" : "task 7: ")));
    // The first error counts.
    run.scope().leave_error("task 8", std::make_exception_ptr(std::runtime_error("text 8")));
    EXPECT_EQ(run.scope().failures().size(), 1U);
    EXPECT_TRUE(run.scope().begin_taking_error());
    EXPECT_FALSE(run.scope().begin_taking_error());
    EXPECT_EQ(run.scope().left_errors(), 1);
    run.scope().end_taking_error();
    EXPECT_EQ(run.scope().left_errors(), 0);
  }
}

// Others may read and drop the exception, which the catch clause of the scheduler owns as well.
TEST_P(Scheduler, ThrowingTask_LeavesItsErrorWhenTheExceptionIsNoLongerHandled) {
  struct Named {
    std::atomic<int> count{0};
    std::atomic<int> while_handled{0};
  };
  class Throwing final : public shoal::sched::Task {
   public:
    explicit Throwing(Named& named) : named_(named) {}
    void run() override { throw std::runtime_error("text 9"); }
    // The scheduler asks for the name when it leaves the error.
    [[nodiscard]] std::string name() const override {
      ++named_.count;
      if (std::current_exception() != nullptr) ++named_.while_handled;
      return "task 9";
    }

   private:
    Named& named_;
  };
  Named named;
  SchedulerRun run(workers());
  auto task = std::make_unique<Throwing>(named);
  task->scope = &run.scope();
  run.scheduler().submit(std::move(task));
  run.finish();
  EXPECT_THAT(run.scope().failures(), testing::ElementsAre("task 9: text 9"));
  EXPECT_GE(named.count, 1);
  EXPECT_EQ(named.while_handled, 0);
}

TEST_P(Scheduler, TasksOfAFailedScope_AreDroppedAndCounted) {
  SchedulerRun run(workers());
  const auto alive = std::make_shared<int>();
  std::atomic<int> ran{0};
  run.scope().drop_tasks();
  for (int i = 0; i < 100; ++i) run.submit([&ran, alive] { ++ran; }, {.worker = i % workers()});
  run.finish();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(alive.use_count(), 1);  // captures are gone before the tasks count as finished
  EXPECT_EQ(run.scope().counts.totals().finished, 100U);
}

TEST_P(Scheduler, TasksThatFollowATimer_AreCountedOnceFromTheStart) {
  SchedulerRun run(GetParam());
  std::atomic<int> ran{0};
  constexpr std::uint64_t kDelay_ns = 1'000'000;
  for (int i = 0; i < 10; ++i) {
    const auto sleep = shoal::sched::make_sleep(run.scheduler(), kDelay_ns);
    shoal::sched::submit_after(*sleep, make_task(&run.scope(), [&ran, sleep] { ++ran; }));
  }
  EXPECT_GE(run.scope().counts.totals().created, 10U);
  run.finish();
  EXPECT_EQ(ran, 10);
  EXPECT_EQ(run.scope().counts.totals().created, 10U);
  EXPECT_EQ(run.scope().counts.totals().finished, 10U);
}

TEST_P(Scheduler, EachWorker_IsStartedOnAThreadOfItsOwn) {
  shoal::sync::Mutex mutex;
  std::set<int> started;
  std::set<std::thread::id> threads;
  auto options = small_stacks(workers());
  options.on_worker_start = [&](WorkerId worker) {
    const shoal::sync::Lock lock(mutex);
    EXPECT_TRUE(started.insert(worker.value()).second);
    EXPECT_TRUE(threads.insert(std::this_thread::get_id()).second);
  };
  SchedulerRun run(options);
  for (int worker = 0; worker < workers(); ++worker) {
    run.submit([] {}, {.worker = worker, .bound = true});
  }
  run.finish();
  EXPECT_EQ(started.size(), static_cast<std::size_t>(workers()));
}

// --- parking

/// Real threads, whose parkers count who is asleep.
class ParkCounter final : public shoal::env::Env {
 public:
  std::uint64_t now_ns() override { return threads_->now_ns(); }
  std::uint64_t random_seed() override { return threads_->random_seed(); }
  void yield() override { threads_->yield(); }
  void drive(const std::vector<shoal::env::Steppable*>& all) override { threads_->drive(all); }
  std::unique_ptr<shoal::env::Parker> make_parker() override {
    return std::make_unique<Parker>(*this, threads_->make_parker());
  }

  /// Returns when `count` are parked with no wake-up on its way to them.
  void await_asleep(int count) const {
    for (int seen = asleep_.load(); seen != count; seen = asleep_.load()) asleep_.wait(seen);
  }
  [[nodiscard]] int park_count() const { return park_count_.load(); }

 private:
  class Parker final : public shoal::env::Parker {
   public:
    Parker(ParkCounter& counter, std::unique_ptr<shoal::env::Parker> parker)
        : counter_(counter), parker_(std::move(parker)) {}
    void park(std::uint64_t timeout_ns) override {
      EXPECT_EQ(timeout_ns, 0U) << "nothing has to be polled";
      ++counter_.park_count_;
      counter_.change(1);
      parker_->park(timeout_ns);
    }
    void unpark() override {
      counter_.change(-1);
      parker_->unpark();
    }

   private:
    ParkCounter& counter_;
    std::unique_ptr<shoal::env::Parker> parker_;
  };
  // Goes to -1 for the moment between an unpark() and the park() that it overtook.
  void change(int by) {
    asleep_.fetch_add(by);
    asleep_.notify_all();
  }

  std::unique_ptr<shoal::env::Env> threads_ = shoal::env::make_thread_env();
  std::atomic<int> asleep_{0};
  std::atomic<int> park_count_{0};
};

TEST_P(Scheduler, IdleWorkers_ParkAfterFewRoundsAndWakeOnAPush) {
  constexpr std::uint64_t kRoundsMax = 200;  // of a worker, from a wake-up to its sleep
  auto owned = std::make_unique<ParkCounter>();
  ParkCounter& env = *owned;
  SchedulerRun run(small_stacks(workers()), std::move(owned));
  env.await_asleep(workers());
  for (int round = 0; round < 20; ++round) {
    // All are asleep: no worker takes a step until something is pushed.
    const std::uint64_t before = run.progress().idle_count();
    const int parks_before = env.park_count();
    std::atomic<int> ran{0};
    if (round % 2 == 0) {
      run.submit([&ran] { ++ran; });
    } else {
      run.submit([&ran] { ++ran; }, {.worker = round % workers(), .bound = true});
    }
    run.finish();
    env.await_asleep(workers());
    EXPECT_EQ(ran, 1);
    const auto woken = static_cast<std::uint64_t>(env.park_count() - parks_before);
    EXPECT_EQ(woken, 1U) << "one task needs one worker";
    EXPECT_LE(run.progress().idle_count() - before, kRoundsMax);
  }
  EXPECT_LE(run.progress().idle_count(),
            static_cast<std::uint64_t>(env.park_count() + 1) * kRoundsMax);
}

TEST_P(Scheduler, LookAgain_WhenAllSleep_MakesAWorkerAskAgain) {
  auto owned = std::make_unique<ParkCounter>();
  ParkCounter& env = *owned;
  SchedulerRun run(small_stacks(workers()), std::move(owned));
  for (int round = 0; round < 20; ++round) {
    if (round % 2 == 0) env.await_asleep(workers());
    const std::uint64_t before = run.progress().idle_count();
    run.scheduler().look_again();
    run.progress().await_change(before);
  }
}

// --- stealing

TEST_P(Scheduler, StealableTasksOfABusyWorker_RunOnOthers) {
  if (workers() == 1) GTEST_SKIP() << "nobody to steal";
  constexpr int kTasks = 100;
  std::atomic<int> ran{0};
  std::atomic<int> at_home{0};
  std::atomic<bool> home_is_free{false};
  SchedulerRun run(workers());
  run.submit(
      [&] {
        for (int i = 0; i < kTasks; ++i) {  // into the deque, the ready queue, the delivered ones
          run.submit(
              [&] {
                if (run.scheduler().count_slot() == 0) ++at_home;
                ++ran;
                ran.notify_all();
              },
              {.priority = i % 3,
               .kind =
                   i % 5 == 0 ? shoal::sched::TaskKind::delivered : shoal::sched::TaskKind::local});
        }
        run.submit([&] { EXPECT_TRUE(home_is_free); }, {.worker = 0, .bound = true});
        for (int seen = ran; seen < kTasks; seen = ran) ran.wait(seen);  // busy all the time
        home_is_free = true;
      },
      {.worker = 0, .bound = true});
  run.finish();
  EXPECT_EQ(ran, kTasks);
  EXPECT_EQ(at_home, 0);
}

TEST(SchedulerEnd, TasksThatNeverRan_AreFreed) {
  const auto alive = std::make_shared<int>();
  {
    const auto env = shoal::testing::make_turn_env(1);
    SchedulerParts parts(*env, small_stacks(2));
    const std::vector<shoal::env::Steppable*> workers = parts.scheduler().steppables();
    parts.submit([&parts, alive] {
      for (int i = 0; i < 100; ++i) parts.submit([alive] {}, {.priority = i % 2});
    });
    parts.submit([alive] {}, {.worker = 1, .bound = true});
    parts.submit([alive] {}, {.kind = shoal::sched::TaskKind::delivered});
    static_cast<void>(workers[0]->step());
    static_cast<void>(workers[0]->step());
    EXPECT_GT(alive.use_count(), 100);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(SchedulerStart, WithoutAWorker_IsRefused) {
  const auto env = shoal::env::make_thread_env();
  shoal::sched::SchedulerOptions options;
  options.worker_count = 0;
  EXPECT_THROW(shoal::sched::Scheduler(*env, options), shoal::CheckError);
}

}  // namespace sched_scheduler_test
