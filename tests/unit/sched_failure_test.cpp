// A world fails while its tasks, its main functions and threads wait.

#include <shoal/full_empty.hpp>
#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>
#include <shoal/task_group.hpp>

#include "support/sizes.hpp"
#include "support/turn_world.hpp"
#include "support/wait_world.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sched_failure_test {

using namespace std::chrono_literals;
using shoal::CancelledError;
using shoal::Future;
using shoal::Promise;
using shoal::Rank;
using shoal::TaskError;
using shoal::World;
using shoal::testing::Counted;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::text_of;
using testing::HasSubstr;

/// Uses what stands on the main function's stack for a while, whatever happens to the world.
class SlowTask {
 public:
  explicit SlowTask(std::atomic<int>& used) : used_(&used) {}
  void operator()() const {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(1ms);
      ++*used_;
    }
  }

 private:
  std::atomic<int>* used_;
};

/// In `wait`, the main function of a world that fails hears of it only when a task has ended that
/// uses its stack.
void expect_late_news(const std::function<void(World&, Future<int>&)>& wait) {
  std::atomic<bool> heard{false};
  const std::string text = text_of<TaskError>(1, 2, [&](World& world) {
    struct Mine {
      std::atomic<int> used{0};
      ~Mine() { EXPECT_EQ(used.load(), 20) << "unwound too early"; }
    } mine;
    Promise<int> never("never");
    auto future = never.future();
    std::atomic<bool> begun{false};
    world.spawn([&] {
      begun = true;
      begun.notify_all();
      const SlowTask slow(mine.used);
      slow();
    });
    while (!begun) shoal::yield();
    world.spawn([] { throw std::runtime_error("the failure"); });
    try {
      wait(world, future);
      ADD_FAILURE() << "went on";
    } catch (const TaskError&) {
      heard = true;
      throw;
    }
  });
  EXPECT_TRUE(heard.load());
  EXPECT_THAT(text, HasSubstr("the failure"));
}

TEST(Failure, MainFunctionInGet_HearsOfItWhenAllTasksHaveEnded) {
  expect_late_news([](World&, Future<int>& future) { future.get(); });
}

TEST(Failure, MainFunctionInSleep_HearsOfItWhenAllTasksHaveEnded) {
  expect_late_news([](World&, Future<int>&) { shoal::sleep_for(1h); });
}

TEST(Failure, MainFunctionInGetOfATaskThatIsDropped_HearsOfItWhenAllTasksHaveEnded) {
  expect_late_news([](World& world, Future<int>&) {
    while (!world.core().failed()) std::this_thread::yield();
    world.async([] {}).get();
  });
}

TEST(Failure, MainFunctionInGetOfATaskThatIsCancelled_HearsOfItWhenAllTasksHaveEnded) {
  expect_late_news(
      [](World& world, Future<int>& future) { world.async([&future] { future.wait(); }).get(); });
}

// The error is left to the team, and another worker takes it.
TEST(Failure, OfAGroupWhoseTaskGoesOn_CancelsTheWaitsOfOthers) {
  std::atomic<bool> cancelled{false};
  const std::string text = text_of<TaskError>(1, 2, [&](World& world) {
    std::atomic<bool> waits{false};
    Promise<int> never("never");
    auto future = never.future();
    world.spawn([&] {
      waits = true;
      try {
        future.wait();
      } catch (const CancelledError&) {
        cancelled = true;
      }
    });
    world.spawn([&] {
      while (!waits) shoal::yield();
      {
        shoal::TaskGroup group("the group");
        group.spawn([] { throw std::runtime_error("the failure"); });
      }
      while (!cancelled) std::this_thread::yield();
    });
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("the failure"));
}

TEST(Failure, TasksInAllKindsOfWaits_EndWithTheirVariables) {
  for (const int workers : {1, 2, 8}) {
    std::atomic<int> alive{0};
    std::atomic<int> cancelled{0};
    text_of<TaskError>(1, workers, [&](World& world) {
      Promise<int> never;
      auto future = never.future();
      shoal::Mutex mutex;
      mutex.lock();
      shoal::Mutex other;
      shoal::ConditionVariable condition;
      shoal::Semaphore semaphore(0);
      shoal::Barrier barrier(1000);
      shoal::Latch counter(1);
      shoal::FullEmpty<int> cell;
      const std::vector<std::function<void()>> waits{[&] { future.wait(); },
                                                     [&] { mutex.lock(); },
                                                     [&] {
                                                       std::unique_lock lock(other);
                                                       condition.wait(lock, [] { return false; });
                                                     },
                                                     [&] { semaphore.acquire(); },
                                                     [&] { barrier.arrive_and_wait(); },
                                                     [&] { counter.wait(); },
                                                     [&] { static_cast<void>(cell.read_fe()); },
                                                     [&] { shoal::sleep_for(1h); }};
      constexpr int kEach = 5;
      std::atomic<int> begun{0};
      for (const auto& wait : waits) {
        for (int i = 0; i < kEach; ++i) {
          world.spawn([&] {
            const Counted counted(alive);
            ++begun;
            try {
              wait();
            } catch (const CancelledError&) {
              ++cancelled;
              throw;
            }
          });
        }
      }
      const int all = kEach * static_cast<int>(waits.size());
      world.spawn([&] {
        while (begun < all) shoal::yield();
        throw std::runtime_error("fails");
      });
      try {
        world.wait();
      } catch (const TaskError&) {
        EXPECT_EQ(alive.load(), 0);
        EXPECT_EQ(cancelled.load(), all);
        mutex.unlock();
        throw;
      }
    });
    EXPECT_EQ(alive.load(), 0);
  }
}

// Tasks that are woken at that moment are not woken twice.
TEST(Failure, WhileManyAreWoken_WakesEachOnce) {
  for (int round = 0; round < shoal::testing::sized(40, 12); ++round) {
    text_of<TaskError>(1, 4, [&](World& world) {
      constexpr int kTasks = 200;
      shoal::Latch gate(1);
      shoal::Semaphore semaphore(0);
      std::atomic<int> begun{0};
      std::atomic<int> ended{0};
      for (int i = 0; i < kTasks; ++i) {
        world.spawn([&, i] {
          struct Last {
            std::atomic<int>& count;
            ~Last() { ++count; }
          } last{ended};
          ++begun;
          if (i % 2 == 0) {
            gate.wait();
          } else {
            semaphore.acquire();
          }
        });
      }
      while (begun < kTasks) shoal::yield();
      std::atomic<int> ready{0};
      const auto together = [&] {
        for (++ready; ready < 3;) std::this_thread::yield();
      };
      for (int i = 0; i < 2; ++i) {
        world.spawn([&, i] {
          together();
          if (i == 0) gate.count_down();
          if (i == 1) semaphore.release(kTasks / 2);
        });
      }
      world.spawn([&] {
        together();
        throw std::runtime_error("now");
      });
      try {
        world.wait();
      } catch (const TaskError&) {
        EXPECT_EQ(ended.load(), kTasks);
        throw;
      }
    });
  }
}

TEST(Failure, ThreadsThatWait_GoOnWithCancelledError) {
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  text_of<TaskError>(1, 2, [&](World& world) {
    Promise<int> never;
    auto future = never.future();
    std::atomic<int> begun{0};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, hold = std::make_unique<shoal::Hold>(world.hold())]() mutable {
        ++begun;
        try {
          future.wait();
        } catch (const CancelledError&) {
          ++told;
        }
        hold.reset();
      });
    }
    while (begun < 4) shoal::yield();
    world.spawn([] { throw std::runtime_error("fails"); });
    world.wait();
  });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(told.load(), 4);
}

/// Promises to end even if the world fails, but does not.
class Stubborn final : public shoal::sched::WaitingRoom {
 public:
  explicit Stubborn(World& world) : WaitingRoom(world.scheduler()) {}
  bool enlist(shoal::sync::Waiter& waiter) override {
    const shoal::sync::Lock lock(mutex_);
    waiters_.push(waiter);
    return true;
  }
  [[nodiscard]] std::string describe() const override { return "a stubborn wait"; }
  [[nodiscard]] shoal::sched::Cancellable cancellable() const override {
    return shoal::sched::Cancellable::no;
  }
  void wait() { wait_here(); }
};

int wait_stubbornly(World& world) {
  Stubborn stubborn(world);
  if (world.rank() == 0) world.spawn([] { throw std::runtime_error("the failure"); });
  if (world.rank() == 1) stubborn.wait();
  world.wait();
  return 0;
}

// A mistake of shoal; but it must not hang.
TEST(FailureDeathTest, OfAWorldWhoseMainFunctionCannotBeTakenOut_EndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run_world(2, 1, wait_stubbornly),
               "rank 1: .*the main function waits in a stubborn wait.*the failure");
  std::string said;
  try {
    run_turns({.seed = 1, .ranks = 2}, wait_stubbornly);
  } catch (const shoal::Error& error) {
    said = error.what();
  }
  EXPECT_THAT(said, HasSubstr("the main function waits in a stubborn wait"));
}

/// Keeps whether its team had failed when a waiter was taken out.
class OfATeam final : public shoal::sched::WaitingRoom {
 public:
  OfATeam(World& world, shoal::Team& team) : WaitingRoom(world.scheduler()), team_(&team) {}
  bool enlist(shoal::sync::Waiter& waiter) override {
    const shoal::sync::Lock lock(mutex_);
    waiters_.push(waiter);
    return true;
  }
  bool withdraw(shoal::sync::Waiter& waiter) override {
    if (!WaitingRoom::withdraw(waiter)) return false;
    had_failed = team_->is_cancelled();
    return true;
  }
  [[nodiscard]] std::string describe() const override { return "a wait of a team"; }
  void wait() { wait_here(); }

  std::atomic<bool> had_failed{false};

 private:
  shoal::Team* team_;
};

TEST(Failure, OfATeam_IsThatOfNestedTeamsBeforeTheirTasksGoOn) {
  shoal::testing::run_seeds(10, 2, 2, [](World& world) {
    shoal::Team team(world, {Rank(0), Rank(1)}, "solver");
    shoal::Team inner(team, {Rank(0), Rank(1)}, "inner");
    OfATeam room(world, inner);
    inner.spawn([&] { room.wait(); });
    shoal::sleep_for(1ms);
    if (world.rank() == 1) team.cancel("too large");
    for (shoal::Team* const one : {&inner, &team}) {
      std::string said;
      try {
        one->wait();
      } catch (const TaskError& error) {
        said = error.what();
      }
      EXPECT_EQ(said, "rank 1 has cancelled team 'solver': too large");
    }
    EXPECT_TRUE(room.had_failed);
  });
}

TEST(Failure, OfAnotherRank_WakesTasksAndMainFunctionsEverywhere) {
  std::atomic<int> alive{0};
  const std::string text = text_of<TaskError>(4, 2, [&](World& world) {
    Promise<int> never;
    auto future = never.future();
    for (int i = 0; i < 10; ++i) {
      world.spawn([&] {
        const Counted counted(alive);
        future.wait();
      });
    }
    if (world.rank() == 3) {
      world.spawn([] {
        shoal::sleep_for(1ms);
        throw std::runtime_error("far away");
      });
    }
    if (world.rank() % 2 == 1) shoal::sleep_for(1h);
    future.wait();
  });
  EXPECT_THAT(text, HasSubstr("far away"));
  EXPECT_EQ(alive.load(), 0);
}

}  // namespace sched_failure_test
