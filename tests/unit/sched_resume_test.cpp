// Resumption of parked tasks: by any worker, with their exceptions.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>

#include "support/run_world.hpp"
#include "support/scheduler_run.hpp"
#include "support/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sched_resume_test {

using shoal::Future;
using shoal::Promise;
using shoal::WorkerId;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::SchedulerRun;
using shoal::testing::sized;
using testing::ElementsAre;

/// Keeps its worker's thread until released.
class Occupied {
 public:
  void occupy() {
    taken_ = true;
    taken_.notify_all();
    released_.wait(false);
  }
  void await() const { taken_.wait(false); }
  void release() {
    released_ = true;
    released_.notify_all();
  }

 private:
  std::atomic<bool> taken_{false};
  std::atomic<bool> released_{false};
};

/// Runs `task(wait)` on worker 1 of a scheduler with 3; the first wait() parks it, and it is woken
/// when that worker is busy for good. Returns on which workers it ran.
template <class F>
std::pair<int, int> run_across(F task) {
  SchedulerRun run(3);
  Promise<void> promise(run.scheduler());
  Future<void> future = promise.future();
  Occupied occupied;
  std::atomic<int> before{-1};
  std::atomic<int> after{-1};
  run.submit(
      [&] {
        before = run.scheduler().count_slot();
        // Only this worker runs it, and so only once the task is parked.
        run.submit([&] { occupied.occupy(); }, {.worker = before, .bound = true});
        task([&] { future.get(); });
        after = run.scheduler().count_slot();
        occupied.release();
      },
      {.worker = 1});
  occupied.await();
  promise.set_value();
  run.finish();
  EXPECT_THAT(run.scope().failures(), testing::IsEmpty());
  return {before, after};
}

TEST(ParkedTask, WhoseWorkerIsBusy_GoesOnOnAnother) {
  for (int round = 0; round < 20; ++round) {
    const auto [before, after] = run_across([](const auto& wait) { wait(); });
    EXPECT_NE(before, after);
    EXPECT_GE(after, 0);
  }
}

struct Numbered : std::runtime_error {
  explicit Numbered(int n) : std::runtime_error("numbered"), number(n) {}
  int number;
};

TEST(ParkedTask, InACatchBlock_ThrowsTheSameOnAnotherWorker) {
  const auto [before, after] = run_across([](const auto& wait) {
    try {
      throw Numbered(1);
    } catch (const Numbered& outer) {
      try {
        throw Numbered(2);
      } catch (const Numbered& inner) {
        wait();
        EXPECT_EQ(inner.number, 2);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        try {
          throw;
        } catch (const Numbered& again) {
          EXPECT_EQ(&again, &inner);
        }
      }
      try {
        throw;
      } catch (const Numbered& again) {
        EXPECT_EQ(&again, &outer);
      }
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
  EXPECT_NE(before, after);
}

TEST(ParkedTask, WhileAnExceptionIsOnItsWay_CountsItOnAnotherWorker) {
  const auto [before, after] = run_across([](const auto& wait) {
    struct WaitsWhenDestroyed {
      explicit WaitsWhenDestroyed(const std::function<void()>& w) : wait(w) {}
      ~WaitsWhenDestroyed() {
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        wait();
        EXPECT_EQ(std::uncaught_exceptions(), 1);
      }
      const std::function<void()>& wait;
    };
    const std::function<void()> waits = wait;
    try {
      const WaitsWhenDestroyed guard(waits);
      throw Numbered(7);
    } catch (const Numbered& error) {
      EXPECT_EQ(error.number, 7);
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
  EXPECT_NE(before, after);
}

TEST(ParkedTask, ThatThrowsOnAnotherWorker_FailsWithItsName) {
  SchedulerRun run(3);
  Promise<void> promise(run.scheduler());
  Future<void> future = promise.future();
  Occupied occupied;
  run.submit(
      [&] {
        run.submit([&] { occupied.occupy(); },
                   {.worker = run.scheduler().count_slot(), .bound = true});
        future.get();
        occupied.release();
        throw std::runtime_error("thrown elsewhere");
      },
      {.name = "traveller"});
  occupied.await();
  promise.set_value();
  run.finish();
  EXPECT_THAT(run.scope().failures(), ElementsAre("traveller: thrown elsewhere"));
}

// Bound tasks and the main function go on where they were, however busy it is there.
TEST(ParkedTask, ThatIsBound_StaysOnItsWorker) {
  EXPECT_EQ(run_world(1, 3,
                      [](World& world) {
                        const auto main_thread = std::this_thread::get_id();
                        std::atomic<int> moved{0};
                        for (int i = 0; i < 60; ++i) {
                          world.spawn(
                              [&] {
                                const auto thread = std::this_thread::get_id();
                                for (int round = 0; round < 20; ++round) {
                                  world.async([] {}).get();
                                  shoal::yield();
                                  shoal::sleep_for(std::chrono::microseconds(10));
                                  moved += std::this_thread::get_id() != thread ? 1 : 0;
                                }
                              },
                              {.worker = WorkerId(i % 3), .bound = true});
                        }
                        for (int round = 0; round < 100; ++round) {
                          world.async([] {}).get();
                          shoal::yield();
                          EXPECT_EQ(std::this_thread::get_id(), main_thread);
                        }
                        world.wait();
                        EXPECT_EQ(moved.load(), 0);
                      }),
            0);
}

TEST(ParkedTasks, WithExceptionsOfTheirOwn_KeepThemWhileTheyTravel) {
  EXPECT_EQ(run_world(1, 4,
                      [](World& world) {
                        std::atomic<int> wrong{0};
                        for (int i = 0; i < sized(200, 40); ++i) {
                          world.spawn([&, i] {
                            for (int round = 0; round < 20; ++round) {
                              try {
                                throw Numbered(i);
                              } catch (const Numbered& error) {
                                world.async([] {}).get();
                                wrong += std::uncaught_exceptions();
                                try {
                                  throw;
                                } catch (const Numbered& again) {
                                  if (&again != &error || again.number != i) ++wrong;
                                }
                              }
                              if (std::current_exception() != nullptr) ++wrong;
                            }
                          });
                        }
                        world.wait();
                        EXPECT_EQ(wrong.load(), 0);
                      }),
            0);
}

}  // namespace sched_resume_test
