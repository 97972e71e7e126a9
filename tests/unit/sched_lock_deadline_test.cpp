// Locks with a deadline: in virtual time to the step, over many orders, and on threads. A caller
// that gives up takes nothing with it, and no wake-up is lost.

#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>

#include "support/extreme_times.hpp"
#include "support/many_orders.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"
#include "support/virtual_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace sched_lock_deadline_test {

using namespace std::chrono_literals;
using shoal::ConditionVariable;
using shoal::FutureStatus;
using shoal::Latch;
using shoal::Mutex;
using shoal::Semaphore;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::in_many_orders;
using shoal::testing::in_virtual_time;
using shoal::testing::kFewSteps_ns;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::sized_on_one_thread;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSecond_ns = 1'000'000'000;

/// Expects that `seconds` have passed since `begin_ns`.
void expect_passed(const World& world, std::uint64_t begin_ns, std::uint64_t seconds) {
  EXPECT_GE(world.now_ns() - begin_ns, seconds * kSecond_ns);
  EXPECT_LE(world.now_ns() - begin_ns, seconds * kSecond_ns + 2 * kFewSteps_ns);
}

// --- each lock, in virtual time

struct Locks {
  Mutex mutex{"busy"};
  Semaphore semaphore{0, "permits"};
  Mutex of_condition{"of the condition"};
  ConditionVariable condition{"news"};
  Latch latch{1, "the start"};
};

/// Waits for each lock in turn, for a duration or until a time; returns how many it got.
template <class Limit>
int count_by(Locks& locks, Limit limit) {
  std::vector<bool> got;
  std::unique_lock lock(locks.of_condition, std::defer_lock);
  if constexpr (shoal::sched::Duration<Limit>) {
    got.push_back(locks.mutex.try_lock_for(limit));
    got.push_back(locks.semaphore.try_acquire_for(limit));
    lock.lock();
    got.push_back(locks.condition.wait_for(lock, limit) == FutureStatus::ready);
    got.push_back(locks.latch.wait_for(limit) == FutureStatus::ready);
  } else {
    got.push_back(locks.mutex.try_lock_until(limit));
    got.push_back(locks.semaphore.try_acquire_until(limit));
    lock.lock();
    got.push_back(locks.condition.wait_until(lock, limit) == FutureStatus::ready);
    got.push_back(locks.latch.wait_until(limit) == FutureStatus::ready);
  }
  if (got.front()) locks.mutex.unlock();
  return static_cast<int>(std::ranges::count(got, true));
}

TEST(LockDeadline, AtTheEndsOfItsType_IsNeitherForgottenNorForEver) {
  in_virtual_time([](World& world) {
    Locks held;
    held.mutex.lock();
    const std::uint64_t begin = world.now_ns();
    const auto over = [&](auto limit) {
      EXPECT_EQ(world.async([&] { return count_by(held, limit); }).get(), 0);
    };
    shoal::testing::for_each_short_delay(over);
    shoal::testing::for_each_early_time(over);
    EXPECT_LE(world.now_ns() - begin, kSecond_ns);
    held.mutex.unlock();
    const auto never = [&](auto limit) {
      Locks locks;
      locks.mutex.lock();
      shoal::Future<int> count = world.async([&] { return count_by(locks, limit); });
      shoal::sleep_for(1s);
      locks.mutex.unlock();
      shoal::sleep_for(1s);
      locks.semaphore.release();
      shoal::sleep_for(1s);
      locks.condition.notify_all();
      shoal::sleep_for(1s);
      locks.latch.count_down();
      EXPECT_EQ(count.get(), 4);
    };
    shoal::testing::for_each_long_delay(never);
    shoal::testing::for_each_late_time(never);
    EXPECT_THROW(count_by(held, shoal::testing::kNoDuration), shoal::CheckError);
  });
}

TEST(LockDeadline, OfAMutex_EndsTheWaitAtItsTime) {
  in_virtual_time([](World& world) {
    Mutex mutex("busy");
    world.spawn([&] {
      const std::scoped_lock lock(mutex);
      shoal::sleep_for(3s);
    });
    shoal::yield();
    const std::uint64_t begin = world.now_ns();
    EXPECT_FALSE(mutex.try_lock_for(0s));
    EXPECT_FALSE(mutex.try_lock_for(-1h));
    EXPECT_FALSE(mutex.try_lock_until(begin));
    expect_passed(world, begin, 0);
    EXPECT_FALSE(mutex.try_lock_for(1s));
    expect_passed(world, begin, 1);
    EXPECT_FALSE(mutex.try_lock_until(begin + 2 * kSecond_ns));
    expect_passed(world, begin, 2);
    EXPECT_TRUE(mutex.try_lock_for(1h));
    expect_passed(world, begin, 3);
    EXPECT_TRUE(mutex.is_mine());
    EXPECT_THROW(std::ignore = mutex.try_lock_for(1s), shoal::CheckError);
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock_for(0s));
    mutex.unlock();
    {
      const std::unique_lock lock(mutex, 1s);
      EXPECT_TRUE(lock.owns_lock());
    }
    std::unique_lock lock(mutex, std::defer_lock);
    EXPECT_TRUE(lock.try_lock_until(std::chrono::steady_clock::now() + 1s));
  });
}

TEST(LockDeadline, OfASemaphore_EndsTheWaitAtItsTime) {
  in_virtual_time([](World& world) {
    Semaphore permits(0);
    world.spawn([&] {
      shoal::sleep_for(3s);
      permits.release();
    });
    const std::uint64_t begin = world.now_ns();
    EXPECT_FALSE(permits.try_acquire_for(0s));
    EXPECT_FALSE(permits.try_acquire_for(1s));
    expect_passed(world, begin, 1);
    EXPECT_FALSE(permits.try_acquire_until(begin + 2 * kSecond_ns));
    expect_passed(world, begin, 2);
    EXPECT_TRUE(permits.try_acquire_for(1h));
    expect_passed(world, begin, 3);
    EXPECT_FALSE(permits.try_acquire());
    permits.release(2);
    EXPECT_TRUE(permits.try_acquire_for(0s));
    EXPECT_TRUE(permits.try_acquire_until(std::chrono::steady_clock::time_point()));
  });
}

TEST(LockDeadline, OfALatch_EndsTheWaitAtItsTime) {
  in_virtual_time([](World& world) {
    Latch latch(1);
    world.spawn([&] {
      shoal::sleep_for(3s);
      latch.count_down();
    });
    const std::uint64_t begin = world.now_ns();
    EXPECT_EQ(latch.wait_for(0s), FutureStatus::timeout);
    EXPECT_EQ(latch.wait_for(1s), FutureStatus::timeout);
    expect_passed(world, begin, 1);
    EXPECT_EQ(latch.wait_until(begin + 2 * kSecond_ns), FutureStatus::timeout);
    expect_passed(world, begin, 2);
    EXPECT_EQ(latch.wait_for(1h), FutureStatus::ready);
    expect_passed(world, begin, 3);
    EXPECT_EQ(latch.wait_for(0s), FutureStatus::ready);
  });
}

TEST(LockDeadline, OfACondition_EndsTheWaitAtItsTime) {
  in_virtual_time([](World& world) {
    Mutex mutex;
    ConditionVariable condition;
    bool is_set = false;
    world.spawn([&] {
      shoal::sleep_for(3s);
      const std::scoped_lock lock(mutex);
      is_set = true;
      condition.notify_one();
    });
    std::unique_lock lock(mutex);
    const std::uint64_t begin = world.now_ns();
    EXPECT_EQ(condition.wait_for(lock, 0s), FutureStatus::timeout);
    EXPECT_TRUE(mutex.is_mine());
    EXPECT_EQ(condition.wait_for(lock, 1s), FutureStatus::timeout);
    EXPECT_TRUE(lock.owns_lock() && mutex.is_mine());
    expect_passed(world, begin, 1);
    EXPECT_FALSE(condition.wait_until(lock, begin + 2 * kSecond_ns, [&] { return is_set; }));
    expect_passed(world, begin, 2);
    EXPECT_TRUE(condition.wait_for(lock, 1h, [&] { return is_set; }));
    expect_passed(world, begin, 3);
    EXPECT_TRUE(condition.wait_for(lock, 0s, [&] { return is_set; }));
    EXPECT_EQ(condition.wait_until(lock, world.now_ns() + 1), FutureStatus::timeout);
    EXPECT_TRUE(mutex.is_mine());
  });
}

// --- waiters that give up

TEST(LockDeadline, ThatPasses_LeavesThePlaceInTheLineToOthers) {
  in_many_orders([](World& world) {
    Mutex mutex;
    std::vector<int> got;
    mutex.lock();
    int came = 0;
    for (int i = 0; i < 6; ++i) {
      while (came < i) shoal::yield();
      world.spawn([&, i] {
        ++came;
        if (i % 2 == 0) {
          const std::scoped_lock lock(mutex);
          got.push_back(i);
        } else {
          EXPECT_FALSE(mutex.try_lock_for(1ms * i));
        }
      });
      while (came <= i) shoal::yield();
    }
    shoal::sleep_for(1s);
    mutex.unlock();
    world.wait();
    EXPECT_THAT(got, ElementsAre(0, 2, 4));
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST(LockDeadline, InAHandler_IsRefused) {
  const auto refused = [](const std::function<void()>& call) {
    return error_of([&](World& world) {
      const auto message = world.make_am([&] { call(); });
      message.send(world.rank());
      world.wait();
    });
  };
  const auto text = HasSubstr("a handler must not wait");
  std::unique_ptr<Mutex> mutex;
  EXPECT_THAT(refused([] { std::ignore = Mutex().try_lock_for(1s); }), text);
  EXPECT_THAT(refused([] { std::ignore = Mutex().try_lock_for(0s); }), text);
  EXPECT_THAT(refused([] { std::ignore = Semaphore(1).try_acquire_for(1s); }), text);
  EXPECT_THAT(refused([] { std::ignore = Latch(0).wait_for(1s); }), text);
  EXPECT_THAT(refused([] {
                Mutex one;
                ConditionVariable condition;
                std::ignore = one.try_lock();
                std::unique_lock lock(one, std::adopt_lock);
                condition.wait_for(lock, 1s);
              }),
              text);
}

TEST(LockDeadline, OfAThread_EndsItsWait) {
  const auto program = [](World& world) {
    Mutex mutex(world, "shared");
    Latch latch(world, 1);
    mutex.lock();
    std::thread thread([&, hold = std::make_shared<shoal::Hold>(world.hold())] {
      EXPECT_FALSE(mutex.try_lock_for(1ms));
      EXPECT_EQ(latch.wait_for(1ms), FutureStatus::timeout);
      latch.count_down();
      EXPECT_EQ(latch.wait_for(1h), FutureStatus::ready);
      EXPECT_TRUE(mutex.try_lock_for(1h));
      mutex.unlock();
    });
    latch.wait();
    mutex.unlock();
    world.wait();
    thread.join();
  };
  EXPECT_EQ(run_world(1, 1, program), 0);
}

TEST(LockDeadline, WhenTheWorldFails_IsCancelled) {
  const std::string error = error_of([](World& world) {
    Mutex mutex;
    Semaphore permits(0);
    mutex.lock();
    const auto expect_cancelled = [&](const std::function<void()>& wait) {
      world.spawn([&, wait] {
        EXPECT_THROW(wait(), shoal::CancelledError);
        EXPECT_LT(world.now_ns(), 1000 * kSecond_ns);
        throw shoal::CancelledError("told");
      });
    };
    expect_cancelled([&] { std::ignore = mutex.try_lock_for(1000h); });
    expect_cancelled([&] { std::ignore = permits.try_acquire_for(1000h); });
    world.spawn([] {
      shoal::sleep_for(1s);
      throw std::runtime_error("the world's");
    });
    std::ignore = permits.try_acquire_for(1000h);
  });
  EXPECT_THAT(error, HasSubstr("the world's"));
}

// A task of a team that fails is cancelled, or has been given the lock: never both.
TEST(LockDeadline, OfATeamThatFails_LosesNoLock) {
  int cancelled = 0;
  int got = 0;
  const int seeds = sized(400, 60);
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(seeds); ++seed) {
    const auto result = run_turns({.seed = seed, .workers = 2}, [&](World& world) {
      Mutex mutex;
      Semaphore permits(0);
      {
        shoal::Team team(world, {shoal::Rank(0)}, "fails");
        mutex.lock();
        for (int i = 0; i < 2; ++i) {
          team.spawn([&, i] {
            try {
              const bool has_it = i == 0 ? mutex.try_lock_for(20us) : permits.try_acquire_for(20us);
              if (!has_it) return;
              ++got;
              i == 0 ? mutex.unlock() : permits.release();
            } catch (const shoal::CancelledError&) {
              ++cancelled;
              throw;
            }
          });
        }
        const auto delay = std::chrono::nanoseconds(10000 + 97 * seed % 12000);
        team.spawn([delay] {
          shoal::sleep_for(delay);
          throw std::runtime_error("the team's");
        });
        shoal::sleep_for(16us);
        mutex.unlock();
        permits.release();
        EXPECT_THROW(team.wait(), shoal::TaskError);
      }
      EXPECT_TRUE(mutex.try_lock()) << "nobody has the lock";
      EXPECT_TRUE(permits.try_acquire()) << "nobody has the permit";
      EXPECT_FALSE(permits.try_acquire());
      mutex.unlock();
      world.wait();
      return 0;
    });
    ASSERT_EQ(result.errors[0], nullptr)
        << "seed " << seed << ": " << shoal::describe(result.errors[0]);
  }
  EXPECT_GT(cancelled, 0);
  EXPECT_GT(got, 0);
}

// The first in the line has a deadline, at the time of the notification; the second one has none.
TEST(LockDeadline, OfTheFirstInTheLine_LeavesTheNotificationToTheSecond) {
  int notified = 0;
  int gave_up = 0;
  const int seeds = sized(400, 60);
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(seeds); ++seed) {
    const auto result = run_turns({.seed = seed, .workers = 2}, [&](World& world) {
      Mutex mutex;
      ConditionVariable condition;
      Latch first_ends(1);
      int waiting = 0;
      FutureStatus status{};
      world.spawn([&] {
        std::unique_lock lock(mutex);
        ++waiting;
        status = condition.wait_for(lock, 20us);
        first_ends.count_down();
      });
      while (waiting == 0) shoal::yield();
      world.spawn([&] {
        std::unique_lock lock(mutex);
        ++waiting;
        condition.wait(lock);
      });
      while (waiting == 1) shoal::yield();
      shoal::sleep_for(std::chrono::nanoseconds(97 * seed % 24000));
      condition.notify_one();
      first_ends.wait();
      (status == FutureStatus::ready ? notified : gave_up) += 1;
      if (status == FutureStatus::ready) condition.notify_one();
      world.wait();
      return 0;
    });
    ASSERT_EQ(result.errors[0], nullptr)
        << "seed " << seed << ": " << shoal::describe(result.errors[0]);
  }
  EXPECT_GT(notified, 0);
  EXPECT_GT(gave_up, 0);
}

// --- random programs

/// Deadlines that pass, and do not, on all locks at once; waiters without one would be stuck if a
/// lock, permit or notification went to one that has given up. `unit`: of the times.
template <class Duration>
void use_locks(World& world, std::uint64_t seed, int rounds, Duration unit) {
  constexpr int kTasks = 6;
  Mutex mutex;
  Semaphore permits(2);
  Mutex items_mutex;
  ConditionVariable items_come;
  int items = 0;
  int items_taken = 0;
  std::atomic<int> inside{0};
  std::atomic<int> with_permit{0};
  int plain = 0;
  std::atomic<int> locked{0};
  const auto limit = [seed, unit](int task, int round) {
    return unit *
           static_cast<int>((seed * 31 + static_cast<std::uint64_t>(task * 17 + round * 7)) % 9);
  };
  const auto in_mutex = [&] {
    EXPECT_EQ(inside.fetch_add(1), 0);
    ++plain;
    shoal::yield();
    inside.fetch_sub(1);
    mutex.unlock();
    ++locked;
  };
  const auto in_permit = [&] {
    EXPECT_LE(with_permit.fetch_add(1), 1);
    shoal::yield();
    with_permit.fetch_sub(1);
    permits.release();
  };
  for (int task = 0; task < kTasks; ++task) {
    world.spawn([&, task] {
      const bool has_deadlines = task % 3 != 0;
      for (int round = 0; round < rounds; ++round) {
        if (!has_deadlines) {
          mutex.lock();
          in_mutex();
          permits.acquire();
          in_permit();
        } else {
          if (mutex.try_lock_for(limit(task, round))) in_mutex();
          if (permits.try_acquire_until(
                  world.now_ns() + static_cast<std::uint64_t>(
                                       std::chrono::nanoseconds(limit(task, round + 1)).count()))) {
            in_permit();
          }
        }
      }
    });
  }
  // Producers notify once for each item. Consumers that were notified take one; those whose
  // deadline has passed take none.
  const int consumers = 3;
  for (int i = 0; i < consumers; ++i) {
    world.spawn([&, i] {
      std::unique_lock lock(items_mutex);
      for (int round = 0; items_taken < consumers * rounds; ++round) {
        if (items > 0) {
          --items;
          if (++items_taken == consumers * rounds) items_come.notify_all();
        } else if (i == 0) {
          items_come.wait(lock);
        } else {
          items_come.wait_for(lock, limit(i, round));
        }
      }
    });
    world.spawn([&, i] {
      for (int round = 0; round < rounds; ++round) {
        {
          const std::scoped_lock lock(items_mutex);
          ++items;
        }
        items_come.notify_one();
        if ((i + round) % 4 == 0) shoal::sleep_for(limit(i, round));
      }
    });
  }
  Latch latch(consumers);
  for (int i = 0; i < consumers; ++i) {
    world.spawn([&, i] {
      if (i > 0) std::ignore = latch.wait_for(limit(i, 3));
      latch.count_down();
      latch.wait();
    });
  }
  world.wait();
  EXPECT_EQ(plain, locked.load());
  EXPECT_GE(plain, 2 * rounds);
  EXPECT_EQ(items_taken, consumers * rounds);
  EXPECT_EQ(items, 0);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(permits.try_acquire());
  EXPECT_TRUE(permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire());
}

TEST(LockDeadlineRandom, InManyOrders_LosesNoWakeUp) {
  const int seeds = sized_on_one_thread(300, 60);
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(seeds); ++seed) {
    SCOPED_TRACE(seed);
    const auto result =
        run_turns({.seed = seed, .workers = 1 + static_cast<int>(seed % 3)}, [&](World& world) {
          use_locks(world, seed, 10, 150ns);
          return 0;
        });
    ASSERT_EQ(result.errors[0], nullptr) << shoal::describe(result.errors[0]);
  }
}

TEST(LockDeadlineRandom, OnThreads_LosesNoWakeUp) {
  for (const int workers : {2, 4}) {
    EXPECT_EQ(run_world(1, workers,
                        [](World& world) {
                          for (std::uint64_t seed = 0; seed < 20; ++seed) {
                            use_locks(world, seed, sized(100, 20), 2us);
                          }
                        }),
              0);
  }
}

}  // namespace sched_lock_deadline_test
