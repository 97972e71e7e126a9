// Futures and promises: values, errors, continuations, several at once, and what is refused.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/when.hpp>

#include "support/run_world.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace sched_future_test {

using shoal::BrokenPromise;
using shoal::CheckError;
using shoal::Future;
using shoal::Promise;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// `program` is the main function of one rank, with 1 and 2 workers.
template <class F>
void on_one_rank(F program) {
  for (const int workers : {1, 2}) EXPECT_EQ(run_world(1, workers, program), 0);
}

/// Text of the E that `f` throws.
template <class E, class F>
std::string thrown(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

// --- values

TEST(Future, InTheMainFunction_GivesValueVoidAndException) {
  on_one_rank([](World& world) {
    EXPECT_EQ(world.async([] { return 42; }).get(), 42);
    bool ran = false;
    world.async([&ran] { ran = true; }).get();
    EXPECT_TRUE(ran);
    auto failed = world.async([]() -> int { throw std::runtime_error("no value"); });
    EXPECT_EQ(thrown<std::runtime_error>([&] { failed.get(); }), "no value");
    EXPECT_FALSE(failed.valid());
  });
}

// Its waiter must not read an exception that the fulfiller may still free.
TEST(Future, OfAPromiseThatIsSetFromAFunction_EndsWhenItsExceptionIsNoLongerHandled) {
  struct Waiter final : shoal::sync::Waiter {
    void wake() override {
      ++count;
      is_handled = std::current_exception() != nullptr;
    }
    int count = 0;
    bool is_handled = false;
  };
  on_one_rank([](World& /*world*/) {
    Promise<int> promise;
    Future<int> future = promise.future();
    Waiter waiter;
    ASSERT_TRUE(shoal::sched::FutureAccess::completion(future)->enlist(waiter));
    promise.set_from([]() -> int { throw std::runtime_error("no value"); });
    EXPECT_EQ(waiter.count, 1);
    EXPECT_FALSE(waiter.is_handled);
    EXPECT_EQ(thrown<std::runtime_error>([&] { future.get(); }), "no value");
  });
}

TEST(Future, OfWhatCanOnlyBeMoved_HandsItOver) {
  on_one_rank([](World& world) {
    auto future = world.async([] { return std::make_unique<int>(7); });
    const std::unique_ptr<int> value = future.get();
    EXPECT_EQ(*value, 7);
  });
}

TEST(Future, InATask_LetsItsWorkerGoOn) {
  on_one_rank([](World& world) {
    Promise<int> promise("the answer");
    std::atomic<int> got{0};
    world.spawn([&, future = promise.future()]() mutable { got = future.get(); });
    world.spawn([&] { promise.set_value(5); });
    world.wait();
    EXPECT_EQ(got.load(), 5);
  });
}

TEST(Future, InAThreadOfTheProgram_WaitsForTheTask) {
  on_one_rank([](World& world) {
    std::atomic<int> got{0};
    std::thread thread([&, hold = std::make_unique<shoal::Hold>(world.hold())]() mutable {
      got = world.async([] { return 1; }).get();
      Promise<int> promise(world, "made on a thread");
      auto future = promise.future();
      world.spawn([&promise] { promise.set_value(2); });
      got += future.get();
      hold.reset();
    });
    world.wait();
    EXPECT_EQ(got.load(), 3);
    thread.join();
  });
}

TEST(Future, WaitedForButNotTaken_KeepsItsValue) {
  on_one_rank([](World& world) {
    auto future = world.async([] { return std::string("kept"); });
    future.wait();
    future.wait();
    EXPECT_TRUE(future.is_ready());
    EXPECT_EQ(future.get(), "kept");
  });
}

TEST(Future, WhatCameBefore_IsSeenByWhoGetsTheValue) {
  on_one_rank([](World& world) {
    for (int i = 0; i < 500; ++i) {
      int plain = 0;  // for ThreadSanitizer to look at
      Promise<void> promise;
      auto future = promise.future();
      world.spawn([&] {
        plain = i;
        std::exchange(promise, Promise<void>()).set_value();
      });
      future.get();
      ASSERT_EQ(plain, i);
    }
  });
}

// --- what is refused

TEST(Promise, FulfilledTwice_IsRefused) {
  on_one_rank([](World&) {
    Promise<int> promise("once");
    auto future = promise.future();
    promise.set_value(1);
    EXPECT_THAT(thrown<CheckError>([&] { promise.set_value(2); }), HasSubstr("fulfilled already"));
    EXPECT_THROW(promise.set_exception(std::make_exception_ptr(1)), CheckError);
    EXPECT_EQ(future.get(), 1);
  });
}

TEST(Promise, FulfilledBeforeItsFutureIsTaken_GivesTheValue) {
  on_one_rank([](World&) {
    Promise<int> promise;
    promise.set_value(8);
    EXPECT_THROW(promise.set_value(9), CheckError);
    Promise<int> moved = std::move(promise);
    EXPECT_EQ(moved.future().get(), 8);
    EXPECT_THROW(const auto dropped = moved.future(), CheckError);
    EXPECT_THROW(moved.set_value(9), CheckError);
  });
}

TEST(Promise, FutureTakenTwice_IsRefusedWithItsName) {
  on_one_rank([](World&) {
    Promise<int> promise("wanted twice");
    const auto future = promise.future();
    EXPECT_THAT(thrown<CheckError>([&] { const auto dropped = promise.future(); }),
                HasSubstr("wanted twice"));
    promise.set_value(1);
  });
}

TEST(Promise, WithoutAName_IsCalledByItsType) {
  on_one_rank([](World&) {
    const auto error_of_broken = [](auto promise) {
      auto future = promise->future();
      promise.reset();
      return thrown<BrokenPromise>([&] { future.get(); });
    };
    EXPECT_THAT(error_of_broken(std::make_unique<Promise<std::vector<double>>>()),
                StartsWith("promise of std::vector<double> was destroyed"));
    EXPECT_THAT(error_of_broken(std::make_unique<Promise<std::string>>()),
                StartsWith("promise of std::string was destroyed"));
    EXPECT_THAT(error_of_broken(std::make_unique<Promise<void>>()),
                StartsWith("promise of void was destroyed"));
    EXPECT_THAT(error_of_broken(std::make_unique<Promise<int>>("wanted")),
                StartsWith("promise 'wanted' was destroyed"));
    Promise<int> promise;
    promise.set_value(1);
    EXPECT_THAT(thrown<CheckError>([&] { promise.set_value(2); }),
                StartsWith("promise of int cannot be used so"));
    const Promise<int> moved = std::move(promise);
    EXPECT_THAT(
        thrown<CheckError>([&] { promise.set_value(2); }),  // NOLINT(bugprone-use-after-move)
        StartsWith("a promise cannot be used so"));
  });
  EXPECT_THAT(error_of([](World&) { Promise<int>().future().get(); }), HasSubstr("promise of int"));
}

TEST(Promise, Destroyed_GivesBrokenPromiseWithItsName) {
  on_one_rank([](World& world) {
    std::optional<Promise<int>> promise(std::in_place, "forgotten");
    auto first = promise->future();
    world.spawn([&] { promise.reset(); });
    EXPECT_THAT(thrown<BrokenPromise>([&] { first.get(); }), HasSubstr("forgotten"));
    Promise<int> second("replaced");
    auto future = second.future();
    second = Promise<int>("another");
    EXPECT_THAT(thrown<BrokenPromise>([&] { future.get(); }), HasSubstr("replaced"));
    const Promise<int> moved = std::move(second);
  });
}

TEST(Promise, WhoseValueThrowsWhileItIsMade_KeepsThatException) {
  struct Bad {
    explicit Bad(int) { throw std::runtime_error("bad value"); }
  };
  on_one_rank([](World&) {
    Promise<Bad> promise;
    auto future = promise.future();
    EXPECT_THROW(promise.set_value(1), std::runtime_error);
    promise.set_exception(std::make_exception_ptr(std::logic_error("told")));
    EXPECT_EQ(thrown<std::logic_error>([&] { future.get(); }), "told");
  });
}

TEST(Future, WithoutAValueToCome_IsRefusedEverywhere) {
  on_one_rank([](World& world) {
    Future<int> none;
    EXPECT_FALSE(none.valid());
    EXPECT_THROW(none.get(), CheckError);
    EXPECT_THROW(none.wait(), CheckError);
    EXPECT_THROW(static_cast<void>(none.is_ready()), CheckError);
    EXPECT_THROW(const auto dropped = none.then([](int) {}), CheckError);
    auto taken = world.async([] { return 1; });
    taken.get();
    std::vector<Future<int>> some;
    some.push_back(std::move(taken));
    EXPECT_THROW(static_cast<void>(when_any(std::move(some))), CheckError);
    some.clear();
    some.emplace_back();
    EXPECT_THROW(static_cast<void>(when_all(std::move(some))), CheckError);
    EXPECT_THROW(static_cast<void>(shoal::when_all(Future<int>(), Future<int>())), CheckError);
  });
}

TEST(Future, GetInAHandler_IsRefusedWithItsName) {
  const std::string error = error_of([](World& world) {
    Promise<int> promise("asked for in a handler");
    auto future = promise.future();
    const auto message = world.make_am([&] { future.get(); });
    message.send(world.rank());
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("asked for in a handler"));
  EXPECT_THAT(error, HasSubstr("a handler must not"));
}

TEST(Promise, MadeOnAThreadWithoutTheWorld_IsRefused) {
  std::thread([] { EXPECT_THROW(Promise<int>(), CheckError); }).join();
}

TEST(Promise, FulfilledInAHandler_WakesTheTask) {
  on_one_rank([](World& world) {
    Promise<int> promise;
    auto future = promise.future();
    const auto message = world.make_am([&](int value) { promise.set_value(value); });
    world.spawn([&] { message.send(world.rank(), 9); });
    EXPECT_EQ(future.get(), 9);
    world.wait();
  });
}

// --- continuations

TEST(Then, GetsTheValueAndGivesAFuture) {
  on_one_rank([](World& world) {
    auto text = world.async([] { return 20; }).then([](int x) { return x + 1; }).then([](int x) {
      return std::to_string(x);
    });
    EXPECT_EQ(text.get(), "21");
    std::vector<int> order;
    auto done = world.async([&order] { order.push_back(1); })
                    .then([&order] { order.push_back(2); })
                    .then([&order] {
                      order.push_back(3);
                      return std::make_unique<int>(4);
                    })
                    .then([&order](std::unique_ptr<int> x) { order.push_back(*x); });
    done.get();
    EXPECT_THAT(order, ElementsAre(1, 2, 3, 4));
  });
}

TEST(Then, AfterAnException_IsNotRun) {
  on_one_rank([](World& world) {
    bool ran = false;
    auto past = world.async([]() -> int { throw std::runtime_error("goes past"); })
                    .then([&ran](int) { ran = true; })
                    .then([&ran] { ran = true; });
    EXPECT_EQ(thrown<std::runtime_error>([&] { past.get(); }), "goes past");
    EXPECT_FALSE(ran);
    auto own = world.async([] {}).then([]() -> int { throw std::runtime_error("its own"); });
    EXPECT_EQ(thrown<std::runtime_error>([&] { own.get(); }), "its own");
  });
}

TEST(Then, MayWaitItself) {
  on_one_rank([](World& world) {
    auto future = world.async([] { return 1; }).then([&world](int x) {
      return x + world.async([] { return 2; }).get();
    });
    EXPECT_EQ(future.get(), 3);
  });
}

// --- several

TEST(WhenAll, OfSeveral_GivesTheirValuesInOrder) {
  on_one_rank([](World& world) {
    std::vector<Future<int>> futures;
    for (int i = 0; i < 20; ++i) futures.push_back(world.async([i] { return i * i; }));
    const std::vector<int> values = when_all(std::move(futures)).get();
    ASSERT_EQ(values.size(), 20U);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i * i);
    auto [number, text] = shoal::when_all(world.async([] { return 1; }), world.async([] {
                            return std::make_unique<std::string>("two");
                          })).get();
    EXPECT_EQ(number, 1);
    EXPECT_EQ(*text, "two");
    EXPECT_TRUE(when_all(std::vector<Future<int>>()).get().empty());
    std::atomic<int> ran{0};
    std::vector<Future<void>> voids;
    for (int i = 0; i < 5; ++i) voids.push_back(world.async([&ran] { ++ran; }));
    when_all(std::move(voids)).get();
    EXPECT_EQ(ran.load(), 5);
    when_all(std::vector<Future<void>>()).get();
  });
}

TEST(WhenAll, WithExceptions_GivesTheFirstInOrderWhenAllAreReady) {
  on_one_rank([](World& world) {
    std::vector<Promise<int>> promises(3);
    std::vector<Future<int>> futures;
    for (auto& promise : promises) futures.push_back(promise.future());
    auto all = when_all(std::move(futures));
    promises[2].set_exception(std::make_exception_ptr(std::runtime_error("third")));
    promises[1].set_exception(std::make_exception_ptr(std::runtime_error("second")));
    EXPECT_FALSE(all.is_ready());
    world.spawn([&] { promises[0].set_value(1); });
    EXPECT_EQ(thrown<std::runtime_error>([&] { all.get(); }), "second");
  });
}

// It is made ready in the middle of set_exception(), which never blocks.
TEST(WhenAll, MadeReadyByTheMainFunctionOfAWorldThatHasFailed_KeepsItsOwnException) {
  const auto program = [](World& world) {
    Promise<void> one("one");
    std::vector<Future<void>> futures;
    futures.push_back(one.future());
    Promise<int> other("other");
    Promise<int> given("given");
    given.set_value(1);
    auto all = when_all(std::move(futures));
    auto both = shoal::when_all(given.future(), other.future());
    world.spawn([] { throw std::runtime_error("the world's"); });
    while (!world.core().failed()) shoal::compute(shoal::Cost::of_seconds(1e-6), [] {});
    one.set_exception(std::make_exception_ptr(std::runtime_error("its own")));
    other.set_exception(std::make_exception_ptr(std::runtime_error("its own")));
    EXPECT_TRUE(all.is_ready());
    EXPECT_EQ(shoal::describe(all.shared_state()->take_error()), "its own");
    EXPECT_TRUE(both.is_ready());
    EXPECT_EQ(shoal::describe(both.shared_state()->take_error()), "its own");
    world.wait();
    return 0;
  };
  const auto result = run_turns({.seed = 1, .workers = 2}, program);
  EXPECT_THAT(shoal::describe(result.errors[0]), HasSubstr("the world's"));
}

TEST(WhenAny, GivesOneThatIsReadyAndAllFutures) {
  on_one_rank([](World& world) {
    std::vector<Promise<int>> promises(3);
    std::vector<Future<int>> futures;
    for (auto& promise : promises) futures.push_back(promise.future());
    auto any = when_any(std::move(futures));
    EXPECT_FALSE(any.is_ready());
    world.spawn([&] { promises[1].set_value(11); });
    auto ready = any.get();
    EXPECT_EQ(ready.index, 1U);
    EXPECT_EQ(ready.futures.size(), 3U);
    EXPECT_EQ(ready.futures[1].get(), 11);
    promises[0].set_value(10);
    EXPECT_EQ(ready.futures[0].get(), 10);
  });
}

TEST(WhenAny, OfNone_IsRefused) {
  on_one_rank([](World&) {
    EXPECT_THROW(static_cast<void>(when_any(std::vector<Future<int>>())), CheckError);
  });
}

// Each future becomes ready on any worker, while others are just added.
TEST(WhenAll, OfManyAtOnce_LosesNone) {
  on_one_rank([](World& world) {
    for (int round = 0; round < 200; ++round) {
      std::vector<Future<int>> futures;
      for (int i = 0; i < 8; ++i) futures.push_back(world.async([i] { return i; }));
      std::vector<Future<int>> others;
      for (int i = 0; i < 8; ++i) others.push_back(world.async([i] { return i; }));
      auto any = when_any(std::move(others)).get();
      ASSERT_EQ(any.futures[any.index].get(), static_cast<int>(any.index));
      ASSERT_EQ(when_all(std::move(futures)).get().size(), 8U);
    }
  });
}

}  // namespace sched_future_test
