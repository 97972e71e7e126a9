// Reports when nothing is left that could wake the waiting tasks, and the fate of these tasks.

#include <shoal/full_empty.hpp>
#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>
#include <shoal/when.hpp>

#include "support/turn_world.hpp"
#include "support/wait_world.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sched_stuck_test {

using shoal::Future;
using shoal::Mutex;
using shoal::Promise;
using shoal::Rank;
using shoal::StuckError;
using shoal::World;
using shoal::testing::Counted;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::text_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Report of a task 'waiter' on one rank that does `wait`.
std::string text_of_wait(const std::function<void(World&)>& wait) {
  return text_of<StuckError>(1, 2, [&](World& world) {
    world.spawn([&] { wait(world); }, {.name = "waiter"});
    world.wait();
  });
}

TEST(StuckTasks, InEachKindOfWait_AreNamedWithWhatTheyWaitFor) {
  EXPECT_THAT(text_of_wait([](World&) {
                Promise<int> never("the value");
                auto future = never.future();
                future.get();
              }),
              HasSubstr("rank 0: 'waiter' waits in get() of 'the value'"));
  EXPECT_THAT(text_of_wait([](World&) {
                Mutex mutex;
                shoal::ConditionVariable condition("rain");
                std::unique_lock lock(mutex);
                condition.wait(lock);
              }),
              HasSubstr("'waiter' waits in wait() of condition 'rain'"));
  EXPECT_THAT(text_of_wait([](World&) { shoal::Semaphore(0, "permits").acquire(); }),
              HasSubstr("'waiter' waits in acquire() of semaphore 'permits'"));
  EXPECT_THAT(text_of_wait([](World&) { shoal::Latch(3, "steps").wait(); }),
              HasSubstr("'waiter' waits in wait() of latch 'steps', which is at 3"));
  EXPECT_THAT(text_of_wait([](World&) { static_cast<void>(shoal::FullEmpty<int>("x").read_ff()); }),
              HasSubstr("'waiter' waits in wait() of condition 'x to be full'"));
  EXPECT_THAT(text_of_wait([](World& world) {
                Promise<int> never;
                std::vector<Future<int>> futures;
                futures.push_back(never.future());
                futures.push_back(world.async([] { return 1; }));
                when_all(std::move(futures)).get();
              }),
              HasSubstr("'waiter' waits in get() of 'when_all()'"));
}

TEST(StuckTasks, AtABarrier_AreCounted) {
  const std::string text = text_of<StuckError>(1, 2, [](World& world) {
    shoal::Barrier barrier(3, "crossing");
    for (int i = 0; i < 2; ++i) world.spawn([&] { barrier.arrive_and_wait(); });
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("2 times 'task' waits in arrive_and_wait() of barrier 'crossing', to "
                              "which 2 of 3 have come"));
}

TEST(StuckTasks, Continuations_AreNamedToo) {
  const std::string text = text_of<StuckError>(1, 1, [](World& world) {
    Promise<int> never("the source");
    auto next = never.future().then([](int) {}, "what would come next");
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("'what would come next' waits in get() of 'the source'"));
}

TEST(StuckTasks, OnSeveralRanks_AreAllNamedAndAllEnd) {
  std::atomic<int> alive{0};
  const std::string text = text_of<StuckError>(4, 2, [&](World& world) {
    shoal::Semaphore semaphore(0, "s" + std::to_string(world.rank().value()));
    if (world.rank() != 2) {
      world.spawn([&] {
        const Counted counted(alive);
        semaphore.acquire();
      });
    }
    world.wait();
  });
  for (const char* rank : {"0", "1", "3"}) {
    EXPECT_THAT(text, HasSubstr(std::string("rank ") + rank +
                                ": 'task' waits in acquire() of "
                                "semaphore 's" +
                                rank + "'"));
  }
  EXPECT_THAT(text, Not(HasSubstr("'s2'")));
  EXPECT_EQ(alive.load(), 0);
}

TEST(StuckMain, InGetOrALock_IsNamed) {
  const std::string get = text_of<StuckError>(2, 1, [](World& world) {
    Promise<int> never("what nobody gives");
    auto future = never.future();
    if (world.rank() == 1) future.get();
    world.wait();
  });
  EXPECT_THAT(get, HasSubstr("rank 1: 'the main function' waits in get() of 'what nobody gives'"));
  const std::string lock = text_of<StuckError>(1, 2, [](World& world) {
    Mutex mutex("kept");
    shoal::Semaphore never(0, "never");
    std::atomic<bool> taken{false};
    world.spawn(
        [&] {
          const std::scoped_lock lock(mutex);
          taken = true;
          never.acquire();
        },
        {.name = "keeper"});
    while (!taken) shoal::yield();
    mutex.lock();
  });
  EXPECT_THAT(lock, AllOf(HasSubstr("'the main function' waits in lock() of mutex 'kept', which "
                                    "'keeper' holds"),
                          HasSubstr("'keeper' waits in acquire() of semaphore 'never'")));
}

// The name of a task that is gone is not looked for.
TEST(StuckMain, WithAMutexThatATaskHasKept_IsTold) {
  const std::string text = text_of<StuckError>(1, 2, [](World& world) {
    Mutex mutex("kept");
    world.spawn([&] { mutex.lock(); }, {.name = "forgetful"});
    while (mutex.try_lock()) {
      mutex.unlock();
      shoal::yield();
    }
    world.spawn([] {}, {.name = "another"});
    mutex.lock();
  });
  EXPECT_THAT(text, HasSubstr("'the main function' waits in lock() of mutex 'kept', which a task "
                              "holds that is ready, or has ended without unlock()"));
}

TEST(StuckMain, Alone_MayRepairAndGoOn) {
  EXPECT_EQ(shoal::testing::run_world(2, 2,
                                      [](World& world) {
                                        Promise<int> promise("later");
                                        auto future = promise.future();
                                        if (world.rank() == 0) {
                                          EXPECT_THROW(future.wait(), StuckError);
                                        } else {
                                          EXPECT_THROW(world.wait(), StuckError);
                                        }
                                        world.spawn([&] { promise.set_value(4); });
                                        EXPECT_EQ(future.get(), 4);
                                        world.wait();
                                      }),
            0);
}

// --- tasks parked on one rank, and main functions everywhere

void spawn_stuck_task_on(World& world, int rank) {
  if (world.rank() != rank) return;
  world.spawn([] {
    Promise<int> never("never");
    never.future().get();
  });
}

TEST(StuckTasks, OnOneRank_EndTheWorldWhenAllMainFunctionsHaveEnded) {
  for (const int rank : {0, 1}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_world(2, 1, [&](World& world) { spawn_stuck_task_on(world, rank); }), 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("waits in get() of 'never'"));
  }
}

TEST(StuckTasks, OnOneRank_EndTheWorldInEachOrder) {
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 6);
    const auto result = run_turns({.seed = seed, .ranks = ranks}, [&](World& world) {
      spawn_stuck_task_on(world, static_cast<int>(seed / 2) % ranks);
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_NE(error, nullptr) << "seed " << seed;
      ASSERT_THROW(std::rethrow_exception(error), StuckError) << "seed " << seed;
    }
  }
}

TEST(StuckTasks, OnOneRank_AreToldToEveryMainFunctionInTheSameWay) {
  for (const int rank : {0, 1}) {
    const auto catches = [&](World& world) {
      spawn_stuck_task_on(world, rank);
      EXPECT_THROW(world.wait(), StuckError);
      EXPECT_TRUE(world.core().failed());
      return 0;
    };
    testing::internal::CaptureStderr();  // it is reported, though all ranks caught it
    EXPECT_EQ(run_world(2, 2, catches), 0);
    testing::internal::GetCapturedStderr();
    for (std::uint64_t seed = 0; seed < 36; ++seed) {
      const auto result = run_turns({.seed = seed, .ranks = 3, .workers = 2}, catches);
      for (const auto& error : result.errors) {
        ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
      }
    }
  }
}

/// `count` tasks, each of which has a mutex and waits for that of the next one.
std::string text_of_circle(int workers, int count) {
  return text_of<StuckError>(1, workers, [&](World& world) {
    std::vector<std::unique_ptr<Mutex>> mutexes;
    for (int i = 0; i < count; ++i) {
      mutexes.push_back(std::make_unique<Mutex>("m" + std::to_string(i)));
    }
    shoal::Barrier all_have_one(count);
    for (int i = 0; i < count; ++i) {
      world.spawn(
          [&, i] {
            const std::scoped_lock mine(*mutexes[static_cast<std::size_t>(i)]);
            all_have_one.arrive_and_wait();
            const std::scoped_lock next(*mutexes[static_cast<std::size_t>((i + 1) % count)]);
          },
          {.name = "t" + std::to_string(i)});
    }
    world.wait();
  });
}

TEST(StuckTasks, ThatLockInACircle_AreReportedAsOne) {
  for (const int workers : {1, 2, 4}) {
    const std::string two = text_of_circle(workers, 2);
    EXPECT_THAT(two, HasSubstr("lock cycle: "));
    EXPECT_THAT(two, AllOf(HasSubstr("'t0' waits in lock() of mutex 'm1', which 't1' holds"),
                           HasSubstr("'t1' waits in lock() of mutex 'm0', which 't0' holds")));
    const std::string three = text_of_circle(workers, 3);
    const std::string circle = three.substr(three.find("lock cycle: "));
    EXPECT_THAT(circle.substr(0, circle.find('\n')),
                AllOf(HasSubstr("'t0' waits in lock() of mutex 'm1'"),
                      HasSubstr("'t1' waits in lock() of mutex 'm2'"),
                      HasSubstr("'t2' waits in lock() of mutex 'm0'")));
  }
}

// The task that stands outside waits for one in the circle.
TEST(StuckTasks, BesideACircle_AreNotPartOfIt) {
  const std::string text = text_of<StuckError>(1, 1, [](World& world) {
    Mutex a("a");
    Mutex b("b");
    shoal::Barrier barrier(2);
    const auto lock_both = [&](Mutex& first, Mutex& second) {
      const std::scoped_lock lock(first);
      barrier.arrive_and_wait();
      const std::scoped_lock again(second);
    };
    world.spawn([&] { lock_both(a, b); }, {.name = "one"});
    world.spawn([&] { lock_both(b, a); }, {.name = "two"});
    while (a.try_lock()) {
      a.unlock();
      shoal::yield();
    }
    world.spawn([&] { a.lock(); }, {.name = "outside"});
    world.wait();
  });
  const std::string circle = text.substr(text.find("lock cycle: "));
  EXPECT_THAT(circle.substr(0, circle.find('\n')), Not(HasSubstr("outside")));
  EXPECT_THAT(text, HasSubstr("'outside' waits in lock() of mutex 'a'"));
}

TEST(StuckTasks, ThatUseTheMainFunctionsVariables_EndBeforeItHears) {
  for (const int workers : {1, 2, 8}) {
    std::atomic<int> alive{0};
    text_of<StuckError>(2, workers, [&](World& world) {
      struct Writes {
        int& place;
        ~Writes() { place = 1; }
      };
      std::vector<int> places(100, 0);
      shoal::Latch counter(1);
      for (int& place : places) {
        world.spawn([&] {
          const Counted counted(alive);
          const Writes writes{place};
          counter.wait();
        });
      }
      try {
        world.wait();
      } catch (const StuckError&) {
        EXPECT_EQ(places, std::vector<int>(100, 1));
        throw;
      }
    });
    EXPECT_EQ(alive.load(), 0);
  }
}

// A thread is counted nowhere: the world ends without it, but not under its feet.
TEST(ThreadsThatWait, AreToldWhenTasksAreStuck) {
  std::atomic<bool> told{false};
  std::thread thread;
  const std::string text = text_of<StuckError>(1, 2, [&](World& world) {
    Promise<int> never("for both");
    auto future = never.future();
    std::atomic<bool> begun{false};
    thread = std::thread([&] {
      begun = true;
      try {
        future.wait();
      } catch (const shoal::CancelledError&) {
        told = true;
      }
    });
    while (!begun) shoal::yield();
    world.spawn([&future] { future.wait(); });
    try {
      world.wait();
    } catch (const StuckError&) {
      thread.join();
      throw;
    }
  });
  EXPECT_TRUE(told.load());
  EXPECT_THAT(text, HasSubstr("'task' waits in get() of 'for both'"));
}

}  // namespace sched_stuck_test
