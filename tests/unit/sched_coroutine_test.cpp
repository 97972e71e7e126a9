// Coroutines that return a Future.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sync.hpp>

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace sched_coroutine_test {

using shoal::BrokenPromise;
using shoal::Future;
using shoal::Promise;
using shoal::StuckError;
using shoal::World;
using shoal::testing::run_world;
using testing::HasSubstr;

template <class F>
void on_one_rank(F program) {
  for (const int workers : {1, 2}) EXPECT_EQ(run_world(1, workers, program), 0);
}

/// Counts those that live.
class Counted {
 public:
  explicit Counted(std::atomic<int>& alive) : alive_(&alive) { ++*alive_; }
  Counted(const Counted& other) : alive_(other.alive_) { ++*alive_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

 private:
  std::atomic<int>* alive_;
};

Future<int> at_once(int value) { co_return value; }

Future<int> twice(Future<int> value) { co_return 2 * co_await value; }

Future<void> add_to(std::atomic<int>& sum, Future<int> value) { sum += co_await std::move(value); }

Future<int> sum_up(World& world, int depth) {
  if (depth == 0) co_return co_await world.async([] { return 1; });
  Future<int> left = sum_up(world, depth - 1);
  Future<int> right = sum_up(world, depth - 1);
  const int first = co_await left;
  co_return first + co_await right;
}

Future<std::unique_ptr<std::string>> text_of(Future<int> value) {
  auto text = std::make_unique<std::string>(std::to_string(co_await value));
  co_return text;
}

Future<int> throws_after(Future<int> value) {
  static_cast<void>(co_await value);
  throw std::runtime_error("thrown behind co_await");
}

Future<std::string> catches(Future<int> value) {
  try {
    static_cast<void>(co_await value);
  } catch (const std::runtime_error& error) {
    co_return error.what();
  }
  co_return "nothing";
}

TEST(Coroutine, ThatNeverWaits_IsReadyAtOnce) {
  on_one_rank([](World&) {
    auto future = at_once(3);
    EXPECT_TRUE(future.is_ready());
    EXPECT_EQ(future.get(), 3);
    EXPECT_EQ(twice(at_once(4)).get(), 8);
  });
}

TEST(Coroutine, ThatWaits_GoesOnAsATask) {
  on_one_rank([](World& world) {
    Promise<int> promise;
    auto future = twice(promise.future());
    EXPECT_FALSE(future.is_ready());
    world.spawn([&] { promise.set_value(21); });
    EXPECT_EQ(future.get(), 42);
    std::atomic<int> sum{0};
    add_to(sum, world.async([] { return 5; })).get();
    EXPECT_EQ(sum.load(), 5);
    EXPECT_EQ(*text_of(world.async([] { return 17; })).get(), "17");
  });
}

TEST(Coroutine, Nested_SumsUp) {
  on_one_rank([](World& world) { EXPECT_EQ(sum_up(world, 8).get(), 256); });
}

TEST(Coroutine, Exceptions_GoToWhoAwaits) {
  on_one_rank([](World& world) {
    EXPECT_THROW(throws_after(world.async([] { return 1; })).get(), std::runtime_error);
    EXPECT_EQ(catches(throws_after(world.async([] { return 1; }))).get(), "thrown behind co_await");
    EXPECT_EQ(catches(at_once(1)).get(), "nothing");
    EXPECT_EQ(catches(world.async([]() -> int { throw std::runtime_error("a task"); })).get(),
              "a task");
  });
}

TEST(Coroutine, MayParkInsteadOfAwait) {
  on_one_rank([](World& world) {
    const auto parks = [](World& in, Future<int> first) -> Future<int> {
      const int x = co_await first;
      co_return x + in.async([] { return 1; }).get();
    };
    EXPECT_EQ(parks(world, world.async([] { return 1; })).get(), 2);
  });
}

TEST(Coroutine, ThatHoldsALockAcrossCoAwait_IsToldSo) {
  on_one_rank([](World&) {
    shoal::Mutex mutex("held");
    const auto holds = [](shoal::Mutex& m, Future<int> value) -> Future<void> {
      m.lock();
      static_cast<void>(co_await std::move(value));
      m.unlock();
    };
    Promise<int> promise;
    auto future = holds(mutex, promise.future());
    promise.set_value(1);
    try {
      future.get();
      ADD_FAILURE() << "another task unlocked it";
    } catch (const shoal::CheckError& error) {
      EXPECT_THAT(error.what(), HasSubstr("unlock() of mutex 'held': the caller does not hold it"));
      EXPECT_THAT(error.what(), HasSubstr("a coroutine that has waited"));
    }
    mutex.unlock();  // it began in the main function
  });
}

// Variables of a coroutine may refer to objects of the task that waits for it.
TEST(Coroutine, ItsVariables_AreGoneBeforeItsFutureIsReady) {
  on_one_rank([](World& world) {
    for (int round = 0; round < 200; ++round) {
      auto mutex = std::make_unique<shoal::Mutex>("of who waits");
      const auto locks = [](shoal::Mutex& m, Future<int> first) -> Future<int> {
        const int x = co_await first;
        const std::scoped_lock lock(m);
        co_return x;
      };
      ASSERT_EQ(locks(*mutex, world.async([] { return 1; })).get(), 1);
      ASSERT_TRUE(mutex->try_lock());
      mutex->unlock();
      mutex.reset();
    }
  });
}

TEST(Coroutine, ThatIsNeverResumed_IsDroppedWithItsVariables) {
  std::atomic<int> alive{0};
  const auto waits = [](Future<int> value, Counted) -> Future<int> { co_return co_await value; };
  testing::internal::CaptureStderr();
  const int code = run_world(2, 2, [&](World& world) {
    Promise<int> promise("never fulfilled");
    auto future = waits(promise.future(), Counted(alive));
    try {
      world.wait();
      ADD_FAILURE() << "not stuck";
    } catch (const StuckError& error) {
      EXPECT_THAT(error.what(), HasSubstr("'a coroutine' waits in get() of 'never fulfilled'"));
      EXPECT_TRUE(future.is_ready());
      throw;
    }
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  EXPECT_EQ(alive.load(), 0);
}

TEST(Coroutine, WhosePromiseBreaks_HearsOfIt) {
  on_one_rank([](World& world) {
    auto promise = std::make_unique<Promise<int>>("broken");
    auto future = twice(promise->future());
    world.spawn([&] { promise.reset(); });
    EXPECT_THROW(future.get(), BrokenPromise);
  });
}

}  // namespace sched_coroutine_test
