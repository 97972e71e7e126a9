// Groups of tasks: no task is left behind, whatever happens.

#include <shoal/future.hpp>
#include <shoal/loops.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/task_group.hpp>

#include "support/many_orders.hpp"
#include "support/refusal.hpp"
#include "support/wait_world.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sched_task_group_test {

using namespace std::chrono_literals;
using shoal::Future;
using shoal::Promise;
using shoal::StuckError;
using shoal::TaskError;
using shoal::TaskGroup;
using shoal::World;
using shoal::testing::Counted;
using shoal::testing::in_many_orders;
using shoal::testing::run_world;
using shoal::testing::text_of;
using testing::HasSubstr;

class Groups : public testing::TestWithParam<int> {
 protected:
  template <class F>
  static void run(F program) {
    EXPECT_EQ(run_world(1, GetParam(), program), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, Groups, testing::Values(1, 2, 8),
                         testing::PrintToStringParamName());

/// A group in a task of a group, and so on; `inside` gets each level, innermost last.
void nest(int level, int depth, const std::function<void(int, TaskGroup&)>& inside) {
  TaskGroup group;
  inside(level, group);
  if (level + 1 < depth) {
    group.spawn([&] { nest(level + 1, depth, inside); });
  }
  group.wait();
}

TEST_P(Groups, CancelledAtAnyLevel_TellsThoseThatNestInIt) {
  run([](World&) {
    constexpr int kDepth = 40;
    std::vector<TaskGroup*> groups;
    nest(0, kDepth, [&groups](int level, TaskGroup& group) {
      groups.push_back(&group);
      if (level != kDepth - 1) return;
      int first = kDepth;  // of those that are cancelled
      for (const int cancelled : {30, 33, 12, 0}) {
        groups[static_cast<std::size_t>(cancelled)]->cancel();
        first = std::min(first, cancelled);
        for (int round = 0; round < 2; ++round) {
          for (int i = kDepth - 1; i >= 0; --i) {
            EXPECT_EQ(groups[static_cast<std::size_t>(i)]->is_cancelled(), i >= first) << i;
          }
        }
      }
    });
  });
}

TEST_P(Groups, TasksHaveEndedBeforeWaitReturns) {
  run([](World&) {
    TaskGroup group;
    for (int round = 0; round < 3; ++round) {  // it can be used again
      std::vector<int> results(50, 0);
      for (int& result : results) {
        group.spawn([&result, &group] {
          shoal::yield();
          group.spawn([&result] { ++result; });
        });
      }
      group.wait();
      for (const int result : results) ASSERT_EQ(result, 1);
    }
  });
}

TEST_P(Groups, TheDestructorWaits) {
  run([](World& world) {
    std::atomic<int> ended{0};
    world.spawn([&] {
      std::atomic<int> mine{0};
      {
        TaskGroup group;
        for (int i = 0; i < 20; ++i) {
          group.spawn([&mine] {
            shoal::yield();
            ++mine;
          });
        }
      }
      ended = mine.load();
    });
    world.wait();
    EXPECT_EQ(ended.load(), 20);
  });
}

int count_leaves(int depth) {
  if (depth == 0) return 1;
  int left = 0;
  int right = 0;
  TaskGroup group;
  group.spawn([&] { left = count_leaves(depth - 1); });
  group.spawn([&] { right = count_leaves(depth - 1); });
  group.wait();
  return left + right;
}

TEST_P(Groups, Nest) {
  run([](World&) { EXPECT_EQ(count_leaves(9), 512); });
}

TEST_P(Groups, TheFirstExceptionIsThrownByWaitAndCancelsTheRest) {
  run([](World& world) {
    for (int round = 0; round < 20; ++round) {
      TaskGroup group;
      std::atomic<int> ran{0};
      group.spawn([] { throw std::runtime_error("first"); });
      try {
        group.wait();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "first");
      }
      EXPECT_TRUE(group.is_cancelled());
      group.spawn([&ran] { ++ran; });  // begins anew
      EXPECT_FALSE(group.is_cancelled());
      group.wait();
      EXPECT_EQ(ran.load(), 1);
    }
    world.wait();  // the world has not failed
  });
}

TEST_P(Groups, AfterACancelledRound_BeginAnew_UnlessCancelledAgainOrFromOutside) {
  run([](World&) {
    for (const bool from_outside : {false, true}) {
      TaskGroup outer;
      outer.spawn([&] {
        TaskGroup group;
        std::atomic<int> ran{0};
        const auto round = [&] {
          group.spawn([&ran] { ++ran; });
          group.wait();
          return ran.exchange(0);
        };
        group.cancel();
        EXPECT_EQ(round(), 0);
        EXPECT_TRUE(group.is_cancelled());  // says so until the next one
        EXPECT_EQ(round(), 1);
        EXPECT_FALSE(group.is_cancelled());
        group.cancel();
        group.wait();
        group.cancel();  // is for the next round
        EXPECT_EQ(round(), 0);
        EXPECT_EQ(round(), 1);
        if (!from_outside) return;
        outer.cancel();
        EXPECT_EQ(round(), 0);
        EXPECT_EQ(round(), 0);
      });
      outer.wait();
    }
  });
}

/// Several tasks run. One throws, and the others because they see that the group is cancelled.
void throw_in_turn() {
  constexpr int kOthers = 3;
  std::atomic<int> begun{0};
  TaskGroup group;
  for (int i = 0; i < kOthers; ++i) {
    group.spawn([&begun] {
      ++begun;
      while (!shoal::is_cancelled()) shoal::yield();
      throw std::runtime_error("second");
    });
  }
  group.spawn([&begun] {
    while (begun < kOthers) shoal::yield();
    throw std::runtime_error("first");
  });
  try {
    group.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
}

TEST_P(Groups, OfSeveralExceptions_TheFirstOneWins) {
  run([](World&) {
    for (int round = 0; round < 100; ++round) throw_in_turn();
  });
}

TEST(Group, OfSeveralExceptions_TheFirstOneWinsInAllOrders) {
  in_many_orders([](World&) { throw_in_turn(); });
}

TEST_P(Groups, Cancelled_DoNotBeginTasksAndTellThoseThatRun) {
  run([](World&) {
    TaskGroup group;
    EXPECT_FALSE(shoal::is_cancelled());
    std::atomic<bool> begun{false};
    std::atomic<bool> inner_saw{false};
    group.spawn([&] {
      TaskGroup inner;
      inner.spawn([&] {
        begun = true;
        while (!shoal::is_cancelled()) shoal::yield();
        inner_saw = inner.is_cancelled();
      });
      inner.wait();
      EXPECT_TRUE(shoal::is_cancelled());
    });
    while (!begun) shoal::yield();
    group.cancel();
    std::atomic<int> ran{0};
    for (int i = 0; i < 10; ++i) group.spawn([&ran] { ++ran; });
    group.wait();
    EXPECT_TRUE(inner_saw.load());
    EXPECT_EQ(ran.load(), 0);
  });
}

// --- cancel() ends the waits of the tasks

/// Text of the CancelledError of a wait.
template <class Wait>
std::string cancelled_text(Wait wait) {
  try {
    wait();
  } catch (const shoal::CancelledError& error) {
    return error.what();
  }
  return "it was not cancelled";
}

/// Waits that nothing ends but a cancellation.
struct Waits {
  explicit Waits(World& world) : mutex(world), semaphore(world, 0), latch(world, 1), full(world) {}

  using Kind = std::function<void(Waits&)>;
  static std::vector<Kind> kinds() {
    return {
        [](Waits& of) { of.future.wait(); },
        [](Waits& of) { static_cast<void>(of.future.wait_for(1h)); },
        [](Waits& of) { of.mutex.lock(); },
        [](Waits& of) { static_cast<void>(of.mutex.try_lock_for(1h)); },
        [](Waits& of) { of.semaphore.acquire(); },
        [](Waits& of) { of.latch.wait(); },
        [](Waits& of) { static_cast<void>(of.full.read_fe()); },
        [](Waits& /*of*/) { shoal::sleep_for(1h); },
        [](Waits& of) {  // an iteration of a loop, on whichever task
          shoal::parallel_for(0, 2, [&of](int) { of.future.wait(); });
        },
        [](Waits& of) {  // the condition's lock is not taken again
          shoal::Mutex own;
          shoal::ConditionVariable condition;
          std::unique_lock lock(own);
          const auto wait = [&] { condition.wait(lock); };
          EXPECT_THAT(cancelled_text(wait), HasSubstr("wait() of condition"));
          EXPECT_FALSE(lock.owns_lock());
          of.future.wait();  // refused
        },
    };
  }

  Promise<void> promise{"never"};
  shoal::SharedFuture<void> future = promise.future().share();
  shoal::Mutex mutex;
  shoal::Semaphore semaphore;
  shoal::Latch latch;
  shoal::FullEmpty<int> full;
};

/// A group whose tasks wait in all ways, in it and in groups that nest in it, is ended by `end`,
/// which is called in the main function when all have begun.
void expect_waits_end(World& world, const std::function<void(TaskGroup&)>& end) {
  Waits waits(world);
  waits.mutex.lock();
  const std::vector<Waits::Kind> kinds = Waits::kinds();
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  bool is_left_alone = false;
  Promise<void> done;
  auto outside = world.async([&, of_it = done.future()]() mutable {  // is of no group
    of_it.wait();
    is_left_alone = true;
  });
  TaskGroup group;
  const auto wait_in = [&](const Waits::Kind& wait) {
    ++begun;
    try {
      wait(waits);
      ADD_FAILURE() << "it was not cancelled";
    } catch (const shoal::CancelledError& error) {
      ++ended;
      EXPECT_THAT(error.what(), HasSubstr("the task group "));
      throw;
    }
  };
  for (const Waits::Kind& wait : kinds) {
    group.spawn([&] { wait_in(wait); });
    group.spawn([&] {
      TaskGroup inner;
      inner.spawn([&] { wait_in(wait); });
      inner.wait();
      EXPECT_TRUE(inner.is_cancelled());
    });
  }
  const int count = 2 * static_cast<int>(kinds.size());
  while (begun < count) shoal::yield();
  end(group);
  group.wait();
  EXPECT_TRUE(group.is_cancelled());
  EXPECT_EQ(ended.load(), count);
  done.set_value();
  outside.get();
  EXPECT_TRUE(is_left_alone);
  // The lock, the permit and the value are still there.
  waits.mutex.unlock();
  EXPECT_TRUE(waits.mutex.try_lock());
  waits.mutex.unlock();
  waits.semaphore.release();
  waits.semaphore.acquire();
  waits.full.write_ef(3);
  EXPECT_EQ(waits.full.read_fe(), 3);
  waits.promise.set_value();
}

TEST_P(Groups, Cancelled_EndTheWaitsOfTheirTasks) {
  run([](World& world) { expect_waits_end(world, [](TaskGroup& group) { group.cancel(); }); });
}

TEST_P(Groups, CancelledByAThreadOfTheProgram_EndTheWaitsOfTheirTasks) {
  run([](World& world) {
    expect_waits_end(world,
                     [](TaskGroup& group) { std::thread([&group] { group.cancel(); }).join(); });
  });
}

TEST_P(Groups, CancelledFromAround_EndTheWaitsOfTheirTasks) {
  run([](World& world) {
    TaskGroup outer;
    outer.spawn(
        [&] { expect_waits_end(world, [&outer](TaskGroup& /*group*/) { outer.cancel(); }); });
    outer.wait();
  });
}

TEST(Group, Cancelled_EndsTheWaitsOfItsTasksInAllOrders) {
  in_many_orders(
      [](World& world) { expect_waits_end(world, [](TaskGroup& group) { group.cancel(); }); });
}

TEST_P(Groups, OfWhichOneThrows_EndTheWaitsOfTheOthers) {
  run([](World&) {
    for (int round = 0; round < 20; ++round) {
      Promise<void> never;
      auto future = never.future();
      std::atomic<bool> begun{false};
      TaskGroup group;
      group.spawn([&] {
        begun = true;
        future.wait();
      });
      group.spawn([&begun] {
        while (!begun) shoal::yield();
        throw std::runtime_error("first");
      });
      EXPECT_THROW(group.wait(), std::runtime_error);
      group.spawn([] { shoal::sleep_for(1us); });  // waits again
      group.wait();
      EXPECT_FALSE(group.is_cancelled());
      never.set_value();
    }
  });
}

TEST_P(Groups, CancelledBefore_RefuseWaits_ButNotForWhatHasCome) {
  run([](World& world) {
    shoal::Mutex mutex(world);
    auto ready = world.async([] { return 3; });
    ready.wait();
    Promise<void> never;
    auto future = never.future();
    int got = 0;
    TaskGroup group;
    group.spawn([&] {
      group.cancel();
      got = ready.get();
      const std::unique_lock lock(mutex);
      EXPECT_THAT(cancelled_text([&] { future.wait(); }), HasSubstr("task group was cancelled"));
      TaskGroup inner;  // may be waited for: its tasks do not begin
      inner.spawn([&got] { ++got; });
      inner.wait();
    });
    group.wait();
    EXPECT_EQ(got, 3);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
    never.set_value();
  });
}

// A lock that is handed over to a task just as that is cancelled is the task's, and not lost.
void pass_a_lock_to_cancelled_tasks(World& world) {
  shoal::Mutex mutex(world);
  shoal::Semaphore permits(world, 1);
  TaskGroup group;
  for (int i = 0; i < 4; ++i) {
    group.spawn([&] {
      for (int round = 0; round < 4; ++round) {
        const std::unique_lock lock(mutex);
        shoal::yield();
      }
    });
    group.spawn([&] {
      for (int round = 0; round < 4; ++round) {
        permits.acquire();
        shoal::yield();
        permits.release();
      }
    });
  }
  for (int i = 0; i < 3; ++i) shoal::yield();
  group.cancel();
  group.wait();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(permits.try_acquire_for(1h));
}

TEST(Group, CancelledWhileItsTasksPassALock_DoesNotLoseIt) {
  in_many_orders(pass_a_lock_to_cancelled_tasks);
  for (int round = 0; round < 200; ++round) {
    EXPECT_EQ(run_world(1, 4, pass_a_lock_to_cancelled_tasks), 0);
  }
}

// A task that was notified has taken that from the others: it gets the lock, and sees the change.
TEST_P(Groups, CancelledBetweenANotificationAndTheLock_GetTheLock) {
  run([](World& world) {
    shoal::Mutex mutex(world);
    shoal::ConditionVariable condition(world);
    bool is_set = false;
    bool is_seen = false;
    std::atomic<int> waiting{0};
    TaskGroup group;
    group.spawn([&] {
      std::unique_lock lock(mutex);
      ++waiting;
      condition.wait(lock, [&] { return is_set; });
      EXPECT_TRUE(lock.owns_lock());
      is_seen = true;
    });
    while (waiting < 1) shoal::yield();
    {
      const std::unique_lock lock(mutex);
      is_set = true;
      condition.notify_one();
      for (int i = 0; i < 10; ++i) shoal::yield();
      group.cancel();
    }
    group.wait();
    EXPECT_TRUE(is_seen);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

// It does not get the lock then, so others have to be told.
TEST_P(Groups, OfATeamThatIsCancelledBehindANotification_PassItOn) {
  run([](World& world) {
    shoal::Mutex mutex(world);
    shoal::ConditionVariable condition(world);
    bool is_set = false;
    std::atomic<int> waiting{0};
    const auto wait = [&] {
      std::unique_lock lock(mutex);
      ++waiting;
      condition.wait(lock, [&] { return is_set; });
    };
    shoal::Team team(world, {shoal::Rank(0)}, "part");
    team.spawn(wait);
    while (waiting < 1) shoal::yield();
    auto outside = world.async(wait);
    while (waiting < 2) shoal::yield();
    {
      const std::unique_lock lock(mutex);
      is_set = true;
      condition.notify_one();
      for (int i = 0; i < 10; ++i) shoal::yield();
      team.cancel("enough");
    }
    EXPECT_THROW(team.wait(), shoal::Error);
    outside.get();
  });
}

// The only worker would run what the task waits for on the task's stack.
TEST_P(Groups, Cancelled_EndAWaitForATaskOfNoGroupThatWaits) {
  run([](World& world) {
    Promise<void> late;
    auto future = late.future();
    std::atomic<bool> begun{false};
    TaskGroup group;
    group.spawn([&] {
      auto part = world.async([&] {
        begun = true;
        future.wait();
      });
      EXPECT_THAT(cancelled_text([&] { part.get(); }), HasSubstr("task group was cancelled"));
    });
    while (!begun) shoal::yield();
    group.cancel();
    group.wait();
    late.set_value();
    world.wait();
  });
}

// A cancellation that comes late, as from a Deadline, leaves the next tasks of the group alone.
TEST(Group, CancelledWhileItBeginsAnew_EndsWithoutAnError) {
  in_many_orders([](World& world) {
    TaskGroup group;
    for (int round = 0; round < 4; ++round) {
      auto other = world.async([&group] { group.cancel(); });
      for (int i = 0; i < 3; ++i) {
        group.spawn([] { shoal::sleep_for(1us); });
        group.wait();
      }
      other.get();
    }
  });
}

TEST_P(Groups, CancelledWhileTheirTasksArePartOfATeamsOperation_LetItEnd) {
  run([](World& world) {
    bool has_waited = false;
    TaskGroup group;
    group.spawn([&] {
      shoal::Team team(world, {shoal::Rank(0)}, "part");
      std::atomic<bool> goes_on{false};
      team.spawn([&] {
        group.cancel();
        shoal::sleep_for(100us);  // a task of the team, not of the group
        goes_on = true;
      });
      team.wait();
      EXPECT_TRUE(goes_on.load());
      shoal::Flow flow(team, "flow");
      auto data = flow.data(0);
      bool has_run = false;
      flow.insert(
          [&has_run](int& /*x*/) {
            shoal::sleep_for(100us);
            has_run = true;
          },
          shoal::read_write(data));
      flow.wait();
      EXPECT_TRUE(has_run);
      has_waited = true;
    });
    group.wait();
    EXPECT_TRUE(has_waited);
  });
}

// --- deadlines

TEST_P(Groups, WithADeadlineThatPasses_EndTheWaitsOfTheirTasks) {
  run([](World& world) {
    expect_waits_end(world, [deadline = std::make_shared<std::optional<shoal::Deadline>>()](
                                TaskGroup& group) { deadline->emplace(group, 100us); });
  });
}

TEST_P(Groups, WithADeadline_DoNotBeginTasksAfterIt) {
  run([](World&) {
    std::atomic<int> ran{0};
    TaskGroup group;
    const shoal::Deadline deadline(group, 0s);
    while (!group.is_cancelled()) shoal::yield();
    group.spawn([&ran] { ++ran; });
    group.wait();
    EXPECT_EQ(ran.load(), 0);
  });
}

TEST_P(Groups, WithADeadlineThatIsMet_AreAsWithoutOne) {
  run([](World&) {
    std::atomic<int> ran{0};
    TaskGroup group;
    {
      const shoal::Deadline deadline(group, 1h);
      group.spawn([&ran] { ++ran; });
      group.wait();
    }
    EXPECT_FALSE(group.is_cancelled());
    EXPECT_EQ(ran.load(), 1);
    for (int i = 0; i < 50; ++i) {  // due as the group ends
      TaskGroup short_lived;
      const shoal::Deadline deadline(short_lived, std::chrono::microseconds(i));
      short_lived.spawn([] { shoal::sleep_for(10us); });
      short_lived.wait();
    }
  });
}

/// Can be copied `left` times.
class CopiedSeldom {
 public:
  explicit CopiedSeldom(int left) : left_(left) {}
  CopiedSeldom(const CopiedSeldom& other) : left_(other.left_ - 1) {
    if (left_ < 0) throw std::runtime_error("copied too often");
  }
  CopiedSeldom& operator=(const CopiedSeldom&) = delete;
  ~CopiedSeldom() = default;
  void operator()() const {}

 private:
  int left_;
};

TEST_P(Groups, WhoseTaskCannotBeMade_AreAsBefore) {
  run([](World&) {
    TaskGroup group;
    int made = 0;
    for (int copies = 0; copies < 10; ++copies) {
      try {
        group.spawn(CopiedSeldom(copies));
        ++made;
      } catch (const std::runtime_error&) {
      }
      group.wait();
    }
    EXPECT_GT(made, 0);
    EXPECT_LT(made, 10);
  });
}

TEST_P(Groups, WaitedForByATaskOfTheirs_RefuseThat) {
  run([](World& world) {
    const auto expect_refusal = [](TaskGroup& group) {
      try {
        group.wait();
        ADD_FAILURE() << "waited for itself";
      } catch (const shoal::CheckError& error) {
        EXPECT_THAT(error.what(), HasSubstr("wait() of 'mine': the caller is one of its tasks"));
      }
    };
    TaskGroup group("mine");
    group.spawn([&] { expect_refusal(group); });
    group.spawn([&] {
      TaskGroup inner("inner");
      inner.spawn([&] { expect_refusal(group); });
      inner.wait();
    });
    group.wait();
    world.spawn([&] { group.wait(); });  // any other task may
    world.wait();
  });
}

TEST(Group, WhoseExceptionNobodyHears_FailsTheWorld) {
  const std::string text = text_of<TaskError>(2, 2, [](World& world) {
    if (world.rank() == 1) {
      TaskGroup group("unheard");
      group.spawn([] { throw std::runtime_error("something"); });
    }
  });
  EXPECT_THAT(text, HasSubstr("unheard"));
  EXPECT_THAT(text, HasSubstr("something"));
}

// --- the world fails, or is stuck

TEST(Group, WithParkedTasksWhenTheWorldFails_EndsThemAll) {
  for (const int workers : {1, 2, 4}) {
    std::atomic<int> alive{0};
    text_of<TaskError>(1, workers, [&](World& world) {
      Promise<void> never("never");
      auto future = never.future();
      std::vector<int> used(40, 0);  // what the tasks use must outlive them
      TaskGroup group;
      for (int& one : used) {
        group.spawn([&one, &alive, &future] {
          const Counted counted(alive);
          TaskGroup inner;
          inner.spawn([&] {
            const Counted also(alive);
            try {
              future.wait();
            } catch (...) {
              one = 1;
              throw;
            }
          });
          inner.wait();
        });
      }
      world.spawn([] { throw std::runtime_error("out of the blue"); });
      group.wait();
      ADD_FAILURE() << "wait() returned in a world that has failed";
    });
    EXPECT_EQ(alive.load(), 0);
  }
}

TEST(Group, OfWhichTasksAreStuck_IsReportedToTheMainFunctionThatWaits) {
  std::atomic<int> alive{0};
  const std::string text = text_of<StuckError>(2, 2, [&](World& world) {
    Promise<int> never("the missing value");
    auto future = never.future();
    TaskGroup group("hopeful");
    if (world.rank() == 1) {
      group.spawn(
          [&] {
            const Counted counted(alive);
            future.wait();
          },
          "optimist");
    }
    group.wait();
  });
  EXPECT_THAT(text, HasSubstr("rank 1: 'optimist' waits in get() of 'the missing value'"));
  EXPECT_THAT(text, HasSubstr("'hopeful'"));
  EXPECT_EQ(alive.load(), 0);
}

TEST(Group, DroppedTasks_AreNotTakenForDone) {
  text_of<TaskError>(1, 1, [](World& world) {
    world.spawn([&] { throw std::runtime_error("fails"); });
    bool ran = false;
    TaskGroup group;
    EXPECT_THROW(shoal::sleep_for(1h), TaskError);
    group.spawn([&ran] { ran = true; });
    group.wait();
    EXPECT_TRUE(ran) << "wait() returned as if it had run";
  });
}

TEST(Group, OnAForeignThread_SaysWhereToUseIt) {
  EXPECT_THAT(shoal::testing::refusal_of([] { const TaskGroup group; }),
              HasSubstr("use it in a task or a main function, during the run; a thread that has a "
                        "Runtime does so in a task, runtime.async([&] { ... }).get()"));
}

}  // namespace sched_task_group_test
