// Tasks and threads that stand still: sched::block().

#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/sched/scheduler.hpp>

#include "sched/inspector.hpp"
#include "support/scheduler_run.hpp"
#include "support/sizes.hpp"
#include "support/turn_env.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sched_block_test {

using shoal::env::StepResult;
using shoal::sched::TaskKind;
using shoal::sync::Waiter;
using shoal::testing::make_task;
using shoal::testing::Parking;
using shoal::testing::SchedulerParts;
using shoal::testing::SchedulerRun;
using shoal::testing::sized;
using shoal::testing::small_stacks;

TEST(Block, OfATask_LetsTheWorkerGoOnAndResumesOnIt) {
  for (const int workers : {1, 2, 8}) {
    SchedulerRun run(workers);
    Parking parking(run.env());
    std::atomic<bool> resumed{false};
    run.submit([&] {
      const auto thread = std::this_thread::get_id();
      const int slot = run.scheduler().count_slot();
      parking.stand();
      EXPECT_EQ(std::this_thread::get_id(), thread);
      EXPECT_EQ(run.scheduler().count_slot(), slot);
      resumed = true;
    });
    parking.await(1);
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i) {
      run.submit(
          [&ran] {
            ++ran;
            ran.notify_all();
          },
          {.worker = i % workers, .bound = true});
    }
    for (int seen = ran; seen < 100; seen = ran) ran.wait(seen);
    EXPECT_FALSE(resumed);
    EXPECT_FALSE(run.scope().all_finished());
    parking.wake_all();
    run.finish();
    EXPECT_TRUE(resumed);
  }
}

TEST(Block, OfAForeignThread_EndsWhenATaskWakesIt) {
  SchedulerRun run(2);
  for (int round = 0; round < 100; ++round) {
    int written = 0;
    shoal::sched::block(run.env(), "block", [&](Waiter& waiter) {
      run.submit([&] {
        written = round + 1;
        waiter.wake();
      });
      return true;
    });
    EXPECT_EQ(written, round + 1);
  }
}

TEST(Block, WhenThereIsNoNeedToWait_GoesOnAtOnce) {
  SchedulerRun run(1);
  shoal::sched::block(run.env(), "block", [](Waiter&) { return false; });
  run.submit([&] {
    for (int i = 0; i < 1000; ++i) {
      shoal::sched::block(run.env(), "block", [](Waiter&) { return false; });
    }
  });
  run.finish();
}

TEST(Block, WokenBeforePublishReturns_GoesOn) {
  SchedulerRun run(1);
  const auto wake_at_once = [](Waiter& waiter) {
    waiter.wake();
    return true;
  };
  int rounds = 0;
  run.submit([&] {
    for (; rounds < 1000; ++rounds) shoal::sched::block(run.env(), "block", wake_at_once);
  });
  run.finish();
  EXPECT_EQ(rounds, 1000);
  shoal::sched::block(run.env(), "block", wake_at_once);
}

TEST(Block, InAHandler_IsRefusedWithItsName) {
  SchedulerRun run(1);
  run.submit([&] {
    const std::string name = "handler";
    shoal::sched::HandlerMark mark;
    mark.show(name);
    EXPECT_TRUE(shoal::sched::in_handler());
    EXPECT_FALSE(shoal::sched::in_suspendable_task());
    shoal::sched::block(run.env(), "future.get()", [](Waiter&) { return false; });
  });
  run.finish();
  EXPECT_THAT(run.scope().failures(), testing::ElementsAre(testing::HasSubstr("future.get()")));
}

TEST(Block, AskedWhoIsRunning_NamesTheTaskAlsoAfterIt) {
  SchedulerRun run(1);
  Parking parking(run.env());
  EXPECT_EQ(shoal::sched::current_activity(), "");
  EXPECT_FALSE(shoal::sched::in_suspendable_task());
  for (const char* name : {"first", "second"}) {
    run.submit(
        [&parking, name] {
          for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(shoal::sched::current_activity(), name);
            EXPECT_TRUE(shoal::sched::in_suspendable_task());
            EXPECT_FALSE(shoal::sched::in_main_function());
            EXPECT_FALSE(shoal::sched::in_handler());
            if (i == 0) parking.stand();
          }
        },
        {.name = name});
  }
  run.submit([] { EXPECT_FALSE(shoal::sched::in_suspendable_task()); },
             {.kind = TaskKind::delivered});
  parking.await(2);
  std::vector<Waiter*> waiters = parking.take();
  std::reverse(waiters.begin(), waiters.end());
  for (Waiter* waiter : waiters) waiter->wake();
  run.finish();
}

// --- exceptions: each fiber has its own

struct Numbered : std::runtime_error {
  explicit Numbered(int n) : std::runtime_error("numbered"), number(n) {}
  int number;
};

/// Throws, catches, and stands still at every point where an exception is alive.
void throw_and_stand(Parking& parking, int number, int depth) {
  try {
    throw Numbered(number + depth);
  } catch (const Numbered& error) {
    parking.stand();
    EXPECT_EQ(error.number, number + depth);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    if (depth > 0) throw_and_stand(parking, number, depth - 1);
    try {
      throw;  // the one of this fiber, at this depth
    } catch (const Numbered& again) {
      EXPECT_EQ(again.number, number + depth);
      parking.stand();
      EXPECT_EQ(&again, &error);
    }
  }
}

// One that leaves its task would make the scope drop the others.
void throw_and_catch(int number) {
  try {
    throw Numbered(number);
  } catch (const Numbered&) {
    EXPECT_NE(std::current_exception(), nullptr);
  }
}

TEST(Block, InCatchBlocks_WhileOthersThrow_KeepsEachTasksExceptions) {
  constexpr int kTasks = 50;
  constexpr int kDepth = 3;
  SchedulerRun run(2);
  Parking parking(run.env());
  for (int i = 0; i < kTasks; ++i) {
    run.submit([&parking, i] {
      throw_and_stand(parking, 100 * i, kDepth);
      EXPECT_EQ(std::current_exception(), nullptr);
    });
    run.submit([i] { throw_and_catch(i); });
  }
  constexpr int kStops = kTasks * (kDepth + 1) * 2;
  for (int woken = 0; woken < kStops;) {
    parking.await(woken + 1);
    for (Waiter* waiter : parking.take()) {
      run.submit([] { throw_and_catch(-1); });
      waiter->wake();
      ++woken;
    }
  }
  run.finish();
}

TEST(Block, WhileAnExceptionIsOnItsWay_KeepsTheCountOfUncaughtOnes) {
  struct StandsWhenDestroyed {
    explicit StandsWhenDestroyed(Parking& p) : parking(p) {}
    ~StandsWhenDestroyed() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      parking.stand();
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
    Parking& parking;
  };
  SchedulerRun run(1);
  Parking parking(run.env());
  run.submit([&parking] {
    const StandsWhenDestroyed guard(parking);
    throw std::runtime_error("passes the guard");
  });
  parking.await(1);
  run.submit([] { EXPECT_EQ(std::uncaught_exceptions(), 0); });
  run.submit([] {
    try {
      throw Numbered(1);
    } catch (const Numbered&) {
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
  });
  run.submit([] {}, {.name = "marks that the two above have run"});
  while (run.scheduler().inspector().tasks_run() < 3) std::this_thread::yield();
  parking.wake_all();
  run.finish();
  EXPECT_THAT(run.scope().failures(), testing::ElementsAre("task: passes the guard"));
}

// --- stacks

int use_stack(int kilobytes, Parking& parking) {
  std::array<volatile char, 1024> frame{};
  frame[static_cast<std::size_t>(kilobytes) % frame.size()] = 1;
  if (kilobytes == 0) {
    parking.stand();
    return 1;
  }
  const int below = use_stack(kilobytes - 1, parking);
  return below + frame[static_cast<std::size_t>(kilobytes) % frame.size()];
}

TEST(Block, AtTheBottomOfADeepStack_KeepsAllFrames) {
  shoal::sched::SchedulerOptions options;
  options.worker_count = 2;  // with stacks of 8 MiB
  SchedulerRun run(options);
  Parking parking(run.env());
  constexpr int kKilobytes = sized(5 * 1024, 512);
  std::atomic<int> sum{0};
  for (int i = 0; i < 8; ++i) run.submit([&] { sum += use_stack(kKilobytes, parking); });
  parking.await(8);
  parking.wake_all();
  run.finish();
  EXPECT_EQ(sum, 8 * (kKilobytes + 1));
}

TEST(Block, DrivenByStep_RunsOneTaskAStep) {
  const auto env = shoal::testing::make_turn_env(1);
  SchedulerParts parts(*env, small_stacks(1));
  std::vector<Waiter*> parked;
  int resumed = 0;
  for (int i = 0; i < 3; ++i) {
    parts.submit([&] {
      shoal::sched::block(*env, "block", [&](Waiter& waiter) {
        parked.push_back(&waiter);
        return true;
      });
      ++resumed;
    });
  }
  shoal::env::Steppable& worker = *parts.scheduler().steppables().front();
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(worker.step(), StepResult::worked);
    EXPECT_EQ(parked.size(), i);
  }
  EXPECT_EQ(worker.step(), StepResult::idle);
  for (Waiter* waiter : parked) waiter->wake();
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(worker.step(), StepResult::worked);
    EXPECT_EQ(resumed, i);
  }
  EXPECT_EQ(worker.step(), StepResult::idle);
}

TEST(Block, AHundredThousandTimes_UsesTheSameStacks) {
  constexpr int kTimes = sized(100'000, 5000);
  const auto env = shoal::testing::make_turn_env(1);
  SchedulerParts parts(*env, small_stacks(1));
  std::set<std::uintptr_t> stacks;
  const auto note_stack = [&stacks] {
    const char here = 0;
    stacks.insert(reinterpret_cast<std::uintptr_t>(&here) / (128 * 1024));
  };
  Waiter* parked = nullptr;
  parts.submit([&] {
    for (int i = 0; i < kTimes; ++i) {
      shoal::sched::block(*env, "block", [&](Waiter& waiter) {
        note_stack();  // of the fiber that goes on
        parked = &waiter;
        return true;
      });
    }
  });
  shoal::env::Steppable& worker = *parts.scheduler().steppables().front();
  for (int i = 0; i < kTimes; ++i) {
    while (parked == nullptr) ASSERT_EQ(worker.step(), StepResult::worked);
    parts.submit(note_stack);
    ASSERT_EQ(worker.step(), StepResult::worked);
    std::exchange(parked, nullptr)->wake();
  }
  while (worker.step() == StepResult::worked) {
  }
  EXPECT_TRUE(parts.scope().all_finished());
  EXPECT_LE(stacks.size(), 2U * 2U);  // two fibers, whose stacks may straddle a boundary
}

TEST(Block, ThatNeverEnds_DoesNotKeepTheWorkersFromStopping) {
  SchedulerRun run(2);
  Parking parking(run.env());
  for (int i = 0; i < 20; ++i) run.submit([&parking] { parking.stand(); });
  parking.await(20);
  run.stop();
  EXPECT_FALSE(run.scope().all_finished());
}

}  // namespace sched_block_test
