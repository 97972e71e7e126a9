// In which order one worker runs its tasks. Driven by step(): nothing here depends on threads.

#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/sched/scheduler.hpp>

#include "sched/inspector.hpp"
#include "sched/memory_bound.hpp"
#include "sched/task_queues.hpp"
#include "support/scheduler_run.hpp"
#include "support/turn_env.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sched_order_test {

using shoal::env::StepResult;
using shoal::sched::ReadyQueue;
using shoal::sched::Task;
using shoal::sched::TaskKind;
using shoal::testing::make_task;
using shoal::testing::SchedulerParts;
using shoal::testing::small_stacks;
using shoal::testing::TaskSettings;
using testing::ElementsAre;

/// One worker, stepped by the test, and the names of what it ran.
class OneWorker : public testing::Test {
 protected:
  void submit(const std::string& name, const TaskSettings& settings = {}) {
    parts_.submit([this, name] { ran_.push_back(name); }, settings);
  }
  template <class F>
  void submit_function(F function, const TaskSettings& settings = {}) {
    parts_.submit(std::move(function), settings);
  }
  /// Submits a task that stands still until `waiter`, set when it runs, is woken.
  void submit_blocked(shoal::sync::Waiter*& waiter, const TaskSettings& settings) {
    submit_function(
        [this, &waiter] {
          shoal::sched::block(*env_, "block", [&waiter](shoal::sync::Waiter& w) {
            waiter = &w;
            return true;
          });
        },
        settings);
  }
  /// Steps until there is nothing to do, at most `steps_max` times; then what ran.
  std::vector<std::string> run(int steps_max = 10'000) {
    while (steps_max-- > 0 && worker().step() == StepResult::worked) {
    }
    return std::exchange(ran_, {});
  }
  [[nodiscard]] bool has_run(const std::string& name) const {
    return std::find(ran_.begin(), ran_.end(), name) != ran_.end();
  }
  [[nodiscard]] shoal::env::Steppable& worker() { return *parts_.scheduler().steppables().front(); }
  [[nodiscard]] SchedulerParts& parts() { return parts_; }
  [[nodiscard]] shoal::sched::MemoryBoundLimit& limit() { return *limit_; }

 private:
  std::unique_ptr<shoal::env::Env> env_ = shoal::testing::make_turn_env(1);
  static shoal::sched::SchedulerOptions with(
      const std::shared_ptr<shoal::sched::MemoryBoundLimit>& limit) {
    shoal::sched::SchedulerOptions options = small_stacks(1);
    options.memory_bound = limit;
    return options;
  }
  const std::shared_ptr<shoal::sched::MemoryBoundLimit> limit_ =
      std::make_shared<shoal::sched::MemoryBoundLimit>(1);
  SchedulerParts parts_{*env_, with(limit_)};
  std::vector<std::string> ran_;
};

constexpr TaskSettings bound_to_first(int priority) {
  TaskSettings settings;
  settings.priority = priority;
  settings.worker = 0;
  settings.bound = true;
  return settings;
}

TEST_F(OneWorker, RunsLargerPrioritiesFirst_AndEqualOnesInTheOrderOfSubmission) {
  submit("a0");
  submit("b5", {.priority = 5});
  submit("c-3", {.priority = -3});
  submit("d5", {.priority = 5});
  submit("e0");
  submit("f100", {.priority = 100});
  submit("g-3", {.priority = -3});
  EXPECT_THAT(run(), ElementsAre("f100", "b5", "d5", "a0", "e0", "c-3", "g-3"));
}

TEST_F(OneWorker, RunsBoundTasksByTheSamePriorities) {
  submit("a1", {.priority = 1});
  submit("b2", bound_to_first(2));
  submit("c3", {.priority = 3});
  submit("d-1", bound_to_first(-1));
  submit("e0");
  submit("f3", bound_to_first(3));
  const std::vector<std::string> order = run();
  EXPECT_THAT(order, testing::UnorderedElementsAre("a1", "b2", "c3", "d-1", "e0", "f3"));
  EXPECT_THAT((std::vector(order.begin() + 2, order.end())), ElementsAre("b2", "a1", "e0", "d-1"));
}

TEST_F(OneWorker, RunsItsOwnTasksNewestFirst_BetweenHigherAndLowerPriorities) {
  submit_function([this] {
    submit("a0");
    submit("b0");
    submit("c0");
    submit("d-1", {.priority = -1});
    submit("e1", {.priority = 1});
  });
  EXPECT_THAT(run(), ElementsAre("e1", "c0", "b0", "a0", "d-1"));
}

TEST_F(OneWorker, RunsTasksOfMessagesBeforeLocalOnes_AndResumedOnesFirst) {
  shoal::sync::Waiter* waiter = nullptr;
  const auto env = shoal::testing::make_turn_env(1);
  submit_function([&] {
    shoal::sched::block(*env, "block", [&waiter](shoal::sync::Waiter& w) {
      waiter = &w;
      return true;
    });
    submit("resumed has gone on");
  });
  run();
  ASSERT_NE(waiter, nullptr);
  submit("local", {.priority = 1000});
  submit("delivered", {.kind = TaskKind::delivered});
  submit("more urgently delivered", {.priority = 1, .kind = TaskKind::delivered});
  waiter->wake();
  EXPECT_THAT(run(),
              ElementsAre("more urgently delivered", "delivered", "local", "resumed has gone on"));
}

// --- no task starves behind tasks of the same priority that keep coming

class Starving : public OneWorker {
 protected:
  /// A task that submits itself again until `name` has run, a thousand times at most.
  void submit_again_until(const std::string& name, const TaskSettings& settings) {
    again_ = [this, name, settings] {
      if (!has_run(name) && --tries_left_ > 0) submit_function([this] { again_(); }, settings);
    };
    submit_function([this] { again_(); }, settings);
  }
  [[nodiscard]] int tries_left() const { return tries_left_; }

 private:
  std::function<void()> again_;
  int tries_left_ = 1000;
};

TEST_F(Starving, TasksOfOthers_RunThoughTheWorkersOwnKeepComing) {
  submit_again_until("shared", {});
  run(2);  // from here on it is the worker itself that submits
  submit("shared");
  run();
  EXPECT_GT(tries_left(), 0);
}

TEST_F(Starving, BoundTasks_RunThoughTheWorkersOwnKeepComing) {
  submit_again_until("bound", {});
  run(2);
  submit("bound", bound_to_first(0));
  run();
  EXPECT_GT(tries_left(), 0);
}

TEST_F(Starving, TasksOfOthers_RunThoughBoundOnesKeepComing) {
  submit_again_until("shared", bound_to_first(0));
  submit("shared");
  run();
  EXPECT_GT(tries_left(), 0);
}

TEST_F(Starving, TheWorkersOwnTasks_RunThoughBoundOnesKeepComing) {
  submit_again_until("own", bound_to_first(0));
  submit_function([this] { submit("own"); }, {.priority = 1});
  run();
  EXPECT_GT(tries_left(), 0);
}

TEST_F(Starving, LessUrgentTasks_WaitAsLongAsUrgentOnesKeepComing) {
  submit_again_until("later", {.priority = 1});
  submit("later");
  run();
  EXPECT_EQ(tries_left(), 0);
}

// --- senders that stand still

TEST_F(OneWorker, BehindManyParkedSenders_StartsNoLocalTaskButThoseOfMessages) {
  constexpr int kTasks = 100;
  constexpr int kParkedMax = 64;
  const auto env = shoal::testing::make_turn_env(1);
  std::vector<shoal::sync::Waiter*> parked;
  int ended = 0;
  for (int i = 0; i < kTasks; ++i) {
    submit_function([&] {
      const shoal::sched::ParkedSenderMark mark;
      shoal::sched::block(*env, "send()", [&parked](shoal::sync::Waiter& waiter) {
        parked.push_back(&waiter);
        return true;
      });
      ++ended;
    });
  }
  submit("bound", bound_to_first(7));
  EXPECT_THAT(run(), ElementsAre("bound"));
  EXPECT_EQ(parked.size(), static_cast<std::size_t>(kParkedMax));
  submit("bound", bound_to_first(7));
  submit("delivered", {.kind = TaskKind::delivered});
  EXPECT_THAT(run(), ElementsAre("delivered"));
  while (ended < kTasks) {
    ASSERT_FALSE(parked.empty());
    for (shoal::sync::Waiter* waiter : std::exchange(parked, {})) waiter->wake();
    run();
    EXPECT_LE(parked.size(), static_cast<std::size_t>(kParkedMax));
  }
}

// --- the queue of ready tasks

std::unique_ptr<Task> task_of(int priority) {
  return make_task(nullptr, [] {}, {.priority = priority});
}

TEST(ReadyQueue, HandsOutLargerPrioritiesFirst_ThenTheOldest) {
  ReadyQueue queue;
  EXPECT_TRUE(queue.looks_empty());
  EXPECT_EQ(queue.try_pop(), nullptr);
  std::vector<std::unique_ptr<Task>> tasks;
  for (const int priority : {1, 0, -2147483647 - 1, 2, 2147483647, 0, 1, 2, -1}) {
    tasks.push_back(task_of(priority));
    queue.push(tasks.back().get());
  }
  EXPECT_EQ(queue.size(), tasks.size());
  for (const std::size_t expected : {4U, 3U, 7U, 0U, 6U, 1U, 5U, 8U, 2U}) {
    EXPECT_EQ(queue.top_key(), ReadyQueue::key_of(tasks[expected]->priority));
    EXPECT_EQ(queue.try_pop(), tasks[expected].get());
  }
  EXPECT_TRUE(queue.looks_empty());
}

// The contents need not begin at the front of the memory when it grows.
TEST(ReadyQueue, KeepsTheOrderOfPlainTasks_WhileItGrows) {
  ReadyQueue queue;
  std::deque<std::unique_ptr<Task>> held;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 5; ++i) {
      held.push_back(task_of(0));
      queue.push(held.back().get());
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(queue.try_pop(), held.front().get()) << "round " << round;
      held.pop_front();
    }
    ASSERT_EQ(queue.size(), held.size());
  }
  for (const std::unique_ptr<Task>& task : held) ASSERT_EQ(queue.try_pop(), task.get());
  EXPECT_EQ(queue.try_pop(), nullptr);
}

constexpr TaskSettings memory_bound(int priority) {
  TaskSettings settings;
  settings.priority = priority;
  settings.kind = TaskKind::memory_bound;
  return settings;
}

// The first one keeps its place in block(), which counts as running.
TEST_F(OneWorker, TasksOverTheLimit_StandBackForOthers_AndComeBackByPriority) {
  shoal::sync::Waiter* waiter = nullptr;
  limit().begin_transfer();
  submit_blocked(waiter, memory_bound(100));
  submit("a0", memory_bound(0));
  submit("b5", memory_bound(5));
  submit("c0", memory_bound(0));
  submit("d-1", memory_bound(-1));
  submit("plain", {.priority = -7});
  EXPECT_THAT(run(), ElementsAre("plain"));
  const auto held = limit().state(parts().scheduler());
  EXPECT_EQ(held.held, 4U);
  EXPECT_EQ(held.running, 1);
  EXPECT_TRUE(parts().scheduler().inspector().holds_work());
  waiter->wake();
  EXPECT_THAT(run(), ElementsAre("b5", "a0", "c0", "d-1"));
  EXPECT_EQ(limit().state(parts().scheduler()).running, 0);
}

TEST_F(OneWorker, TheEndOfTheLastTransfer_LetsAllRun) {
  shoal::sync::Waiter* waiter = nullptr;
  limit().begin_transfer();
  limit().begin_transfer();
  submit_blocked(waiter, memory_bound(100));
  submit("a0", memory_bound(0));
  submit("b0", memory_bound(0));
  EXPECT_THAT(run(), testing::IsEmpty());
  limit().end_transfer();
  EXPECT_THAT(run(), testing::IsEmpty());
  limit().end_transfer();
  EXPECT_THAT(run(), testing::UnorderedElementsAre("a0", "b0"));
  waiter->wake();
  run();
}

// As after an error: the sanitizers see what is not freed.
TEST_F(OneWorker, TasksThatAreHeldBackAtTheEnd_AreDestroyed) {
  shoal::sched::MemoryBoundLimit limit(1);
  const auto env = shoal::testing::make_turn_env(1);
  const auto token = std::make_shared<int>(7);
  {
    SchedulerParts parts(*env, small_stacks(1));
    limit.begin_transfer();
    auto first = make_task(&parts.scope(), [] {});
    EXPECT_TRUE(limit.try_begin(parts.scheduler(), *first));
    auto second = make_task(&parts.scope(), [token] {});
    EXPECT_FALSE(limit.try_begin(parts.scheduler(), *second.release()));
    EXPECT_EQ(token.use_count(), 2);
    limit.discard(parts.scheduler());
    EXPECT_EQ(token.use_count(), 1);
  }
}

}  // namespace sched_order_test
