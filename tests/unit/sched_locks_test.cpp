// Mutex and ConditionVariable, over several numbers of workers and, for what depends on the order,
// in simulated worlds.

#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>

#include "support/many_orders.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sched_locks_test {

using shoal::ConditionVariable;
using shoal::Mutex;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::in_many_orders;
using shoal::testing::run_world;
using shoal::testing::sized;
using testing::HasSubstr;

class Locks : public testing::TestWithParam<int> {
 protected:
  template <class F>
  static void run(F program) {
    EXPECT_EQ(run_world(1, GetParam(), program), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, Locks, testing::Values(1, 2, 8),
                         testing::PrintToStringParamName());

// --- Mutex

TEST_P(Locks, Mutex_LetsOneInAtATime) {
  run([](World& world) {
    constexpr int kTasks = 50;
    constexpr int kRounds = sized(100, 20);
    Mutex mutex;
    int plain = 0;
    for (int i = 0; i < kTasks; ++i) {
      world.spawn([&] {
        for (int round = 0; round < kRounds; ++round) {
          const std::scoped_lock lock(mutex);
          const int seen = plain;
          if (round % 10 == 0) shoal::yield();
          plain = seen + 1;
        }
      });
    }
    world.wait();
    EXPECT_EQ(plain, kTasks * kRounds);
  });
}

TEST_P(Locks, Mutex_IsSharedWithThreadsAndTheMainFunction) {
  run([](World& world) {
    constexpr int kRounds = 200;
    Mutex mutex(world, "shared");
    int plain = 0;
    const auto work = [&] {
      for (int i = 0; i < kRounds; ++i) {
        const std::lock_guard lock(mutex);
        ++plain;
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&work, hold = std::make_shared<shoal::Hold>(world.hold())] { work(); });
    }
    for (int i = 0; i < 3; ++i) world.spawn(work);
    work();
    world.wait();
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(plain, 7 * kRounds);
  });
}

TEST(Mutex, IsHandedOverInTheOrderOfArrival) {
  in_many_orders([](World& world) {
    Mutex mutex;
    std::vector<int> arrived;
    std::vector<int> got;
    mutex.lock();
    for (int i = 0; i < 10; ++i) {
      world.spawn([&, i] {
        arrived.push_back(i);
        const std::scoped_lock lock(mutex);
        got.push_back(i);
      });
    }
    while (arrived.size() < 10) shoal::yield();
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();
    EXPECT_FALSE(mutex.try_lock()) << "somebody came between";
    world.wait();
    EXPECT_EQ(got, arrived);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST(Mutex, LockedTwiceOrUnlockedByAnother_IsRefused) {
  const std::string again = error_of([](World& world) {
    Mutex mutex("precious");
    world.spawn([&] {
      const std::scoped_lock lock(mutex);
      mutex.lock();
    });
    world.wait();
  });
  EXPECT_THAT(again, HasSubstr("mutex 'precious': the caller holds it already"));
  const std::string others = error_of([](World& world) {
    Mutex mutex("precious");
    mutex.lock();
    world.spawn([&] { mutex.unlock(); });
    world.wait();
  });
  EXPECT_THAT(others, HasSubstr("unlock() of mutex 'precious': the caller does not hold it"));
  EXPECT_THAT(error_of([](World&) { Mutex("free").unlock(); }), HasSubstr("'free'"));
}

TEST(Mutex, OfAThread_BelongsToThatThread) {
  const auto program = [](World& world) {
    Mutex mutex(world, "precious");
    const auto expect_not_mine = [&] {
      EXPECT_FALSE(mutex.is_mine());
      EXPECT_THROW(mutex.unlock(), shoal::CheckError);
    };
    std::thread([&] {
      mutex.lock();
      std::thread(expect_not_mine).join();
      EXPECT_THROW(mutex.lock(), shoal::CheckError);
      mutex.unlock();
      expect_not_mine();
    }).join();
    mutex.lock();  // the main function
    std::thread(expect_not_mine).join();
    mutex.unlock();
  };
  EXPECT_EQ(run_world(1, 1, program), 0);
}

// The new owner has not continued yet: the lock has no owner.
TEST(Mutex, WhileItIsHandedOver_BelongsToNobody) {
  EXPECT_EQ(error_of([](World& world) {
              Mutex mutex;
              mutex.lock();
              bool waits = false;
              bool has_it = false;
              world.spawn([&] {
                waits = true;
                const std::scoped_lock lock(mutex);
                has_it = true;
              });
              while (!waits) shoal::yield();
              mutex.unlock();
              EXPECT_FALSE(has_it);
              EXPECT_FALSE(mutex.is_mine());
              EXPECT_FALSE(mutex.try_lock());
              EXPECT_THROW(mutex.unlock(), shoal::CheckError);
              world.wait();
              EXPECT_TRUE(has_it);
            }),
            "");
}

TEST_P(Locks, TwoMutexes_TakenByScopedLock_DoNotBlockEachOther) {
  run([](World& world) {
    Mutex a("a");
    Mutex b("b");
    int plain = 0;
    for (int i = 0; i < 100; ++i) {
      world.spawn([&, i] {
        for (int round = 0; round < 5; ++round) {
          if (i % 2 == 0) {
            const std::scoped_lock lock(a, b);
            ++plain;
          } else {
            const std::scoped_lock lock(b, a);
            ++plain;
          }
        }
      });
    }
    world.wait();
    EXPECT_EQ(plain, 500);
  });
}

// The task that was handed the lock may destroy it at once.
TEST_P(Locks, Mutex_DestroyedByWhoLocksItLast_IsNotTouchedAfterwards) {
  run([](World& world) {
    for (int round = 0; round < sized(300, 50); ++round) {
      auto mutex = std::make_unique<Mutex>(world);
      std::atomic<int> left{2};
      for (int i = 0; i < 2; ++i) {
        world.spawn([&] {
          std::unique_lock lock(*mutex);
          if (--left > 0) return;
          lock.unlock();
          lock.release();
          mutex.reset();
        });
      }
      world.wait();
    }
  });
}

// --- ConditionVariable

TEST(ConditionVariable, LosesNoNotification) {
  in_many_orders([](World& world) {
    constexpr int kItems = 20;
    Mutex mutex;
    ConditionVariable filled;
    ConditionVariable emptied;
    int items = 0;
    int taken = 0;
    for (int consumer = 0; consumer < 4; ++consumer) {
      world.spawn([&] {
        for (int i = 0; i < kItems / 4; ++i) {
          std::unique_lock lock(mutex);
          filled.wait(lock, [&] { return items > 0; });
          --items;
          ++taken;
          emptied.notify_one();
        }
      });
    }
    for (int producer = 0; producer < 2; ++producer) {
      world.spawn([&] {
        for (int i = 0; i < kItems / 2; ++i) {
          std::unique_lock lock(mutex);
          emptied.wait(lock, [&] { return items < 2; });
          ++items;
          lock.unlock();
          filled.notify_one();
        }
      });
    }
    world.wait();
    EXPECT_EQ(taken, kItems);
    EXPECT_EQ(items, 0);
  });
}

TEST_P(Locks, Condition_LosesNoNotificationAmongWorkers) {
  run([](World& world) {
    constexpr int kPairs = 8;
    constexpr int kRounds = sized(200, 40);
    Mutex mutex;
    ConditionVariable changed;
    std::vector<int> turns(kPairs, 0);
    for (int pair = 0; pair < kPairs; ++pair) {
      for (int side = 0; side < 2; ++side) {
        world.spawn([&, pair, side] {
          int& turn = turns[static_cast<std::size_t>(pair)];
          for (int round = 0; round < kRounds; ++round) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn % 2 == side; });
            ++turn;
            changed.notify_all();
          }
        });
      }
    }
    world.wait();
    for (const int turn : turns) EXPECT_EQ(turn, 2 * kRounds);
  });
}

TEST_P(Locks, Condition_NotifyOneWakesOneAndNotifyAllAll) {
  run([](World& world) {
    Mutex mutex;
    ConditionVariable condition;
    int waiting = 0;
    int woken = 0;
    for (int i = 0; i < 10; ++i) {
      world.spawn([&] {
        std::unique_lock lock(mutex);
        ++waiting;
        condition.wait(lock);
        ++woken;
      });
    }
    const auto count = [&](const int& what) {
      const std::scoped_lock lock(mutex);
      return what;
    };
    while (count(waiting) < 10) shoal::yield();
    for (int i = 1; i <= 3; ++i) {
      condition.notify_one();
      while (count(woken) < i) shoal::yield();
    }
    EXPECT_EQ(count(woken), 3);
    condition.notify_all();
    world.wait();
    EXPECT_EQ(woken, 10);
  });
}

TEST(ConditionVariable, WhoseWaitIsStuckInTheMainFunction_LeavesItTheLock) {
  EXPECT_EQ(error_of([](World& world) {
              Mutex mutex;
              ConditionVariable condition;
              std::unique_lock lock(mutex);
              EXPECT_THROW(condition.wait(lock), shoal::StuckError);
              EXPECT_TRUE(lock.owns_lock());
              EXPECT_TRUE(mutex.is_mine());
              world.wait();
            }),
            "");
}

TEST(ConditionVariable, WhoseWaitIsCancelled_LeavesNoLock) {
  bool owned = true;
  EXPECT_THAT(error_of([&](World& world) {
                Mutex mutex;
                ConditionVariable condition("rain");
                world.spawn([&] {
                  std::unique_lock lock(mutex);
                  try {
                    condition.wait(lock);
                  } catch (const shoal::CancelledError&) {
                    owned = lock.owns_lock();
                    throw;
                  }
                });
                world.wait();
              }),
              HasSubstr("'rain'"));
  EXPECT_FALSE(owned);
}

TEST(ConditionVariable, WithoutItsLock_IsRefused) {
  const std::string error = error_of([](World&) {
    Mutex mutex;
    ConditionVariable condition("unprotected");
    std::unique_lock lock(mutex, std::defer_lock);
    condition.wait(lock);
  });
  EXPECT_THAT(error, HasSubstr("'unprotected': the caller does not hold the lock"));
}

}  // namespace sched_locks_test
