// Semaphores, barriers, counters and full/empty cells, over several numbers of workers and, for
// what depends on the order, in simulated worlds.

#include <shoal/full_empty.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>

#include "support/many_orders.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace sched_meeting_test {

using shoal::Barrier;
using shoal::FullEmpty;
using shoal::Latch;
using shoal::Semaphore;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::in_many_orders;
using shoal::testing::run_world;
using shoal::testing::sized;
using testing::AllOf;
using testing::HasSubstr;

class Meetings : public testing::TestWithParam<int> {
 protected:
  template <class F>
  static void run(F program) {
    EXPECT_EQ(run_world(1, GetParam(), program), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, Meetings, testing::Values(1, 2, 8),
                         testing::PrintToStringParamName());

// --- Semaphore, Barrier, Latch

TEST_P(Meetings, Semaphore_LetsAsManyInAsItHasPermits) {
  run([](World& world) {
    Semaphore semaphore(3);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    for (int i = 0; i < 60; ++i) {
      world.spawn([&] {
        for (int round = 0; round < 5; ++round) {
          semaphore.acquire();
          const int now = ++inside;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          shoal::yield();
          --inside;
          semaphore.release();
        }
      });
    }
    world.wait();
    EXPECT_LE(most.load(), 3);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire());
  });
}

TEST(Meeting, TooMuchForTheirNumbers_ChangesNothing) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  run_world(1, 1, [](World& world) {
    Semaphore semaphore(1);
    EXPECT_THROW(semaphore.release(kMost), shoal::CheckError);
    EXPECT_TRUE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire());
    semaphore.release(kMost);
    EXPECT_THROW(semaphore.release(), shoal::CheckError);
    EXPECT_TRUE(semaphore.try_acquire());
    semaphore.release();
    // Waiters take their share before the rest must fit.
    Semaphore awaited(0);
    world.spawn([&] { awaited.acquire(); });
    shoal::yield();
    awaited.release(kMost);
    world.wait();

    Latch counter(1);
    EXPECT_THROW(counter.add(kMost), shoal::CheckError);
    counter.count_down();
    EXPECT_TRUE(counter.is_zero());
    Latch full(kMost);
    EXPECT_THROW(full.add(1), shoal::CheckError);
    full.count_down(kMost);
    EXPECT_TRUE(full.is_zero());
  });
}

TEST(Semaphore, ReleasedBySeveral_LetsSoManyGoInOrder) {
  in_many_orders([](World& world) {
    Semaphore semaphore(0);
    std::vector<int> arrived;
    std::vector<int> got;
    for (int i = 0; i < 9; ++i) {
      world.spawn([&, i] {
        arrived.push_back(i);
        semaphore.acquire();
        got.push_back(i);
      });
    }
    while (arrived.size() < 9) shoal::yield();
    world.spawn([&] { semaphore.release(4); });
    while (got.size() < 4) shoal::yield();
    for (int i = 0; i < 20; ++i) shoal::yield();
    EXPECT_EQ(got.size(), 4U);
    semaphore.release(10);
    world.wait();
    ASSERT_EQ(got.size(), 9U);
    std::ranges::sort(got);
    std::ranges::sort(arrived);
    EXPECT_EQ(got, arrived);
    for (int left = 5; left > 0; --left) EXPECT_TRUE(semaphore.try_acquire()) << left;
    EXPECT_FALSE(semaphore.try_acquire()) << "those that were handed over are not free";
  });
}

TEST_P(Meetings, Barrier_IsUsedManyTimes) {
  run([](World& world) {
    constexpr int kTasks = 7;
    constexpr int kRounds = sized(300, 50);
    Barrier barrier(kTasks);
    std::vector<int> rounds(kTasks, 0);
    std::atomic<int> wrong{0};
    for (int i = 0; i < kTasks; ++i) {
      world.spawn([&, i] {
        for (int round = 0; round < kRounds; ++round) {
          ++rounds[static_cast<std::size_t>(i)];
          barrier.arrive_and_wait();
          for (const int other : rounds) wrong += other != round + 1 ? 1 : 0;
          barrier.arrive_and_wait();
        }
      });
    }
    world.wait();
    EXPECT_EQ(wrong.load(), 0);
  });
}

TEST(Barrier, WhoseWaitThrows_DoesNotCountThatArrival) {
  in_many_orders([](World& world) {
    Barrier barrier(2);
    EXPECT_THROW(barrier.arrive_and_wait(), shoal::StuckError);
    bool came = false;
    bool met = false;
    world.spawn([&] {
      came = true;
      barrier.arrive_and_wait();
      met = true;
    });
    while (!came) shoal::yield();
    for (int i = 0; i < 20; ++i) shoal::yield();
    EXPECT_FALSE(met) << "it met nobody";
    barrier.arrive_and_wait();
    world.wait();
    EXPECT_TRUE(met);
  });
}

TEST_P(Meetings, Counter_WakesAllAtZero) {
  run([](World& world) {
    for (int round = 0; round < 50; ++round) {
      Latch counter(1);
      std::atomic<int> woken{0};
      for (int i = 0; i < 5; ++i) {
        world.spawn([&] {
          counter.wait();
          EXPECT_TRUE(counter.is_zero());
          ++woken;
        });
      }
      for (int i = 0; i < 10; ++i) {
        counter.add(1);
        world.spawn([&] { counter.count_down(); });
      }
      counter.count_down();
      counter.wait();
      world.wait();
      ASSERT_EQ(woken.load(), 5);
    }
  });
}

// --- where they are refused

/// `call` throws a CheckError that says `text`.
void expect_refused(const std::function<void()>& call, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << text;
  } catch (const shoal::CheckError& error) {
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

/// None of these calls would have to wait.
struct FreeOnes {
  explicit FreeOnes(World& world)
      : mutex(world, "m"),
        semaphore(world, 1, "s"),
        barrier(world, 1, "b"),
        counter(world, 0, "c") {}
  void expect_all_refused(const std::string& why) {
    expect_refused([this] { mutex.lock(); }, "lock() of mutex 'm' " + why);
    expect_refused([this] { semaphore.acquire(); }, "acquire() of semaphore 's' " + why);
    expect_refused([this] { barrier.arrive_and_wait(); },
                   "arrive_and_wait() of barrier 'b', to which 0 of 1 have come " + why);
    expect_refused([this] { counter.wait(); }, "wait() of latch 'c', which is at 0 " + why);
  }
  void use_all() {
    mutex.lock();
    mutex.unlock();
    semaphore.acquire();
    barrier.arrive_and_wait();
    counter.wait();
  }

  shoal::Mutex mutex;
  Semaphore semaphore;
  Barrier barrier;
  Latch counter;
};

TEST(Waits, InAHandler_AreRefusedEvenIfTheyNeedNotWait) {
  EXPECT_EQ(error_of([](World& world) {
              FreeOnes ones(world);
              const auto message =
                  world.make_am([&ones] { ones.expect_all_refused("was called in handler"); });
              message.send(world.rank());
              world.wait();
              ones.use_all();
            }),
            "");
}

TEST(Waits, OfAnotherRank_AreRefusedEvenIfTheyNeedNotWait) {
  std::unique_ptr<FreeOnes> ones;
  const auto program = [&](World& world) {
    if (world.rank() == 0) ones = std::make_unique<FreeOnes>(world);
    world.barrier();
    if (world.rank() == 1) ones->expect_all_refused("belongs to another rank");
    world.barrier();
    if (world.rank() == 0) {
      ones->use_all();
      ones.reset();
    }
  };
  EXPECT_EQ(run_world(2, 1, program), 0);
}

// Refused calls have left nothing behind.
TEST(Waits, ThatWereRefused_WorkAsBefore) {
  EXPECT_EQ(error_of([](World& world) {
              Barrier barrier(2, "b");
              Semaphore semaphore(0, "s");
              Latch counter(1, "c");
              const auto message = world.make_am([&] {
                const std::string why = "was called in handler";
                expect_refused([&] { barrier.arrive_and_wait(); }, why);
                expect_refused([&] { semaphore.acquire(); }, why);
                expect_refused([&] { counter.wait(); }, why);
              });
              message.send(world.rank());
              world.wait();
              world.spawn([&] {
                barrier.arrive_and_wait();
                semaphore.release();
                counter.count_down();
              });
              barrier.arrive_and_wait();
              semaphore.acquire();
              counter.wait();
            }),
            "");
}

TEST(Counts, ThatMakeNoSense_AreRefused) {
  EXPECT_THAT(error_of([](World&) { Semaphore(-1, "s"); }), HasSubstr("'s' cannot have -1"));
  EXPECT_THAT(error_of([](World&) { Semaphore(1, "s").release(0); }), HasSubstr("'s'"));
  EXPECT_THAT(error_of([](World&) { Barrier(0, "b"); }), HasSubstr("'b' cannot be for 0"));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(error_of([](World&) { Semaphore(2, "s").release(kMost - 1); }),
              AllOf(HasSubstr("release(9223372036854775806) of semaphore 's', which has 2 permits"),
                    HasSubstr("9223372036854775807 are the most")));
  EXPECT_THAT(error_of([](World&) { Latch(2, "c").add(kMost - 1); }),
              AllOf(HasSubstr("add(9223372036854775806) to latch 'c', which is at 2"),
                    HasSubstr("9223372036854775807 is the most")));
  EXPECT_THAT(error_of([](World&) { Latch(-2, "c"); }), HasSubstr("'c' cannot begin at -2"));
  EXPECT_THAT(error_of([](World&) { Latch(1, "c").count_down(2); }), HasSubstr("which is at 1"));
  EXPECT_THAT(error_of([](World&) { Latch(0, "c").add(1); }), HasSubstr("at zero already"));
  EXPECT_THAT(error_of([](World&) { Latch(1, "c").add(0); }), HasSubstr("add(0)"));
}

/// Room that must not be used once its waiters were taken out: they may destroy it.
class Departing final : public shoal::sched::WaitingRoom {
 public:
  explicit Departing(World& world) : WaitingRoom(world.scheduler()) {}
  bool enlist(shoal::sync::Waiter& waiter) override {
    const shoal::sync::Lock lock(mutex_);
    waiters_.push(waiter);
    ++waiting_;
    return true;
  }
  [[nodiscard]] std::string describe() const override { return "departing"; }
  [[nodiscard]] bool ends_by_itself() const override {
    EXPECT_FALSE(departed_);
    return false;
  }
  [[nodiscard]] shoal::sched::Cancellable cancellable() const override {
    EXPECT_FALSE(departed_);
    return shoal::sched::Cancellable::yes;
  }
  void wait() { wait_here(); }
  [[nodiscard]] int waiting() const { return waiting_; }
  void wake_all() {
    shoal::sync::TakenWaiters woken;
    {
      const shoal::sync::Lock lock(mutex_);
      woken = waiters_.take_all();
    }
    departed_ = true;
    woken.wake_all();
  }

 private:
  int waiting_ = 0;
  bool departed_ = false;
};

TEST(Waitable, IsNotTouchedOnceSomebodyWasWoken) {
  in_many_orders([](World& world) {
    Departing departing(world);
    for (int i = 0; i < 2; ++i) world.spawn([&] { departing.wait(); });
    world.spawn([&] {
      while (departing.waiting() < 3) shoal::yield();
      departing.wake_all();
    });
    departing.wait();
    world.wait();
  });
}

// --- FullEmpty

TEST_P(Meetings, FullEmpty_PassesEachValueOnce) {
  run([](World& world) {
    constexpr int kEach = sized(100, 20);
    FullEmpty<int> cell;
    std::atomic<int> sum{0};
    for (int writer = 0; writer < 4; ++writer) {
      world.spawn([&] {
        for (int i = 1; i <= kEach; ++i) cell.write_ef(i);
      });
      world.spawn([&] {
        for (int i = 1; i <= kEach; ++i) sum += cell.read_fe();
      });
    }
    world.wait();
    EXPECT_EQ(sum.load(), 4 * kEach * (kEach + 1) / 2);
  });
}

TEST_P(Meetings, FullEmpty_ReadWithoutEmptyingGivesAllTheValue) {
  run([](World& world) {
    FullEmpty<std::string> cell(world, "news");
    std::atomic<int> read{0};
    for (int i = 0; i < 10; ++i) {
      world.spawn([&] { read += cell.read_ff() == "new" ? 1 : 0; });
    }
    world.spawn([&] { cell.write_xf("new"); });
    world.wait();
    EXPECT_EQ(read.load(), 10);
    cell.write_xf("newer");
    EXPECT_EQ(cell.read_fe(), "newer");
    cell.write_ef("again");
    EXPECT_EQ(cell.read_ff(), "again");
  });
}

}  // namespace sched_meeting_test
