// Waits with a deadline, on everything that a program can wait for: in virtual time to the step,
// over many orders, and on threads.

#include <shoal/future.hpp>
#include <shoal/futures.hpp>
#include <shoal/global_memory.hpp>
#include <shoal/large_message.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/when.hpp>

#include "support/extreme_times.hpp"
#include "support/run_world.hpp"
#include "support/turn_world.hpp"
#include "support/virtual_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace sched_deadline_test {

using namespace std::chrono_literals;
using shoal::Future;
using shoal::FutureStatus;
using shoal::GlobalMemory;
using shoal::Promise;
using shoal::Rank;
using shoal::SharedFuture;
using shoal::Transfer;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::in_virtual_time;
using shoal::testing::kFewSteps_ns;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Deadline, ThatPasses_EndsTheWaitAtItsTime_AndTheValueIsNotLost) {
  in_virtual_time([](World& world) {
    Promise<int> promise("late");
    Future<int> future = promise.future();
    world.spawn([&] {
      shoal::sleep_for(3s);
      promise.set_value(7);
    });
    const std::uint64_t begin = world.now_ns();
    EXPECT_EQ(future.wait_for(1s), FutureStatus::timeout);
    EXPECT_GE(world.now_ns() - begin, 1'000'000'000U);
    EXPECT_LE(world.now_ns() - begin, 1'000'000'000U + kFewSteps_ns);
    EXPECT_EQ(future.wait_until(begin + 2'000'000'000), FutureStatus::timeout);
    EXPECT_GE(world.now_ns() - begin, 2'000'000'000U);
    EXPECT_LE(world.now_ns() - begin, 2'000'000'000U + kFewSteps_ns);
    EXPECT_EQ(future.wait_for(100s), FutureStatus::ready);
    EXPECT_GE(world.now_ns() - begin, 3'000'000'000U);
    EXPECT_LE(world.now_ns() - begin, 3'000'000'000U + kFewSteps_ns);
    EXPECT_EQ(future.get(), 7);
    world.wait();
    // The timers of waits that have ended keep nothing waiting.
    EXPECT_LE(world.now_ns() - begin, 3'000'000'000U + 2 * kFewSteps_ns);
  });
}

TEST(Deadline, ThatHasPassedAlready_OnlyLooks) {
  in_virtual_time([](World& world) {
    Promise<void> promise;
    Future<void> future = promise.future();
    const std::uint64_t begin = world.now_ns();
    EXPECT_EQ(future.wait_for(0s), FutureStatus::timeout);
    EXPECT_EQ(future.wait_for(-1h), FutureStatus::timeout);
    EXPECT_EQ(future.wait_until(begin), FutureStatus::timeout);
    EXPECT_EQ(future.wait_until(std::chrono::steady_clock::time_point()), FutureStatus::timeout);
    promise.set_value();
    EXPECT_EQ(future.wait_for(0s), FutureStatus::ready);
    EXPECT_EQ(future.wait_for(-1h), FutureStatus::ready);
    future.get();
    EXPECT_LE(world.now_ns() - begin, kFewSteps_ns);
  });
}

// A wait that has passed returns at once; one that never ends takes what comes.
TEST(Deadline, AtTheEndsOfItsType_IsNeitherForgottenNorForEver) {
  in_virtual_time([](World& world) {
    Promise<void> never;
    const SharedFuture<void> nothing = never.future().share();
    const std::uint64_t begin = world.now_ns();
    shoal::testing::for_each_short_delay([&](auto delay) {
      EXPECT_EQ(nothing.wait_for(delay), FutureStatus::timeout);
      shoal::sleep_for(delay);
    });
    shoal::testing::for_each_early_time(
        [&](auto time) { EXPECT_EQ(nothing.wait_until(time), FutureStatus::timeout); });
    EXPECT_LE(world.now_ns() - begin, 10 * kFewSteps_ns);
    const auto fulfilled = [&](auto wait) {
      Future<int> future = world.async([] {
        shoal::sleep_for(1s);
        return 7;
      });
      EXPECT_EQ(wait(future), FutureStatus::ready);
      EXPECT_EQ(future.get(), 7);
    };
    shoal::testing::for_each_long_delay([&](auto delay) {
      fulfilled([&](Future<int>& future) { return future.wait_for(delay); });
    });
    shoal::testing::for_each_late_time([&](auto time) {
      fulfilled([&](Future<int>& future) { return future.wait_until(time); });
    });
    EXPECT_LE(world.now_ns() - begin, 12'000'000'000U);
    EXPECT_THROW(shoal::sleep_for(shoal::testing::kNoDuration), shoal::CheckError);
    EXPECT_THROW(std::ignore = nothing.wait_for(shoal::testing::kNoDuration), shoal::CheckError);
    // Virtual time gets that far, and no further: then nothing is left to wait for.
    shoal::testing::for_each_long_delay(
        [&](auto delay) { EXPECT_EQ(nothing.wait_for(delay), FutureStatus::timeout); });
    shoal::testing::for_each_late_time(
        [&](auto time) { EXPECT_EQ(nothing.wait_until(time), FutureStatus::timeout); });
    never.set_value();
  });
}

TEST(Deadline, OfATeam_AtTheEndsOfItsType_CancelsAtOnceOrNever) {
  in_virtual_time([](World& world) {
    const auto is_cancelled = [&](auto delay) {
      shoal::Team team(world, {Rank(0)}, "attempt");
      const shoal::Deadline deadline(team, delay);
      team.spawn([] { shoal::sleep_for(1s); });
      try {
        team.wait();
      } catch (const shoal::TaskError& error) {
        EXPECT_TRUE(error.is_cancellation());
        return true;
      }
      return false;
    };
    shoal::testing::for_each_short_delay([&](auto delay) { EXPECT_TRUE(is_cancelled(delay)); });
    shoal::testing::for_each_long_delay([&](auto delay) { EXPECT_FALSE(is_cancelled(delay)); });
    EXPECT_THROW(is_cancelled(shoal::testing::kNoDuration), shoal::CheckError);
  });
}

TEST(Deadline, OfATask_LetsItsWorkerGoOn_AndOfManyAreKeptInOrder) {
  in_virtual_time([](World& world) {
    Promise<void> promise;
    const SharedFuture<void> future = promise.future().share();
    std::vector<int> order;
    for (const int ms : {5, 3, 4, 1, 2}) {
      world.spawn([&, ms] {
        EXPECT_EQ(future.wait_for(std::chrono::milliseconds(ms)), FutureStatus::timeout);
        order.push_back(ms);
      });
    }
    std::atomic<int> ready{0};
    for (int i = 0; i < 5; ++i) {
      world.spawn([&] { ready += future.wait_for(1h) == FutureStatus::ready ? 1 : 0; });
    }
    shoal::sleep_for(1s);
    EXPECT_THAT(order, ElementsAre(1, 2, 3, 4, 5));
    promise.set_value();
    world.wait();
    EXPECT_EQ(ready.load(), 5);
  });
}

TEST(Deadline, BeforeAnException_LeavesItToGet) {
  in_virtual_time([](World& world) {
    Future<int> future = world.async([]() -> int {
      shoal::sleep_for(2s);
      throw std::runtime_error("no value");
    });
    EXPECT_EQ(future.wait_for(1s), FutureStatus::timeout);
    EXPECT_EQ(future.wait_for(5s), FutureStatus::ready);
    EXPECT_THROW(future.get(), std::runtime_error);
  });
}

// --- on each kind of operation

/// Starts an operation that ends when rank 1 has slept for a second, and waits in all ways.
template <class Start>
void wait_in_all_ways(Start start) {
  in_virtual_time(
      [&](World& world) {
        start(world, [&](auto& operation) {
          if (world.rank() != 0) return;
          EXPECT_FALSE(operation.is_ready());
          EXPECT_EQ(operation.wait_for(1ms), FutureStatus::timeout);
          EXPECT_EQ(operation.wait_until(world.now_ns() + 1'000'000), FutureStatus::timeout);
          EXPECT_EQ(operation.wait_for(1h), FutureStatus::ready);
          EXPECT_TRUE(operation.is_ready());
          EXPECT_GE(world.now_ns(), 1'000'000'000U);
          EXPECT_LE(world.now_ns(), 1'200'000'000U);
        });
        world.wait();
      },
      2);
}

int answer_late() {
  shoal::sleep_for(1s);
  return 42;
}

TEST(EachKind, OfATask_HasADeadline) {
  wait_in_all_ways([](World& world, auto wait) {
    Future<int> future = world.async(answer_late);
    wait(future);
    EXPECT_EQ(future.get(), 42);
  });
}

TEST(EachKind, OfAContinuation_HasADeadline) {
  wait_in_all_ways([](World& world, auto wait) {
    Future<int> future = world.async(answer_late).then([](int x) { return x + 1; });
    wait(future);
    EXPECT_EQ(future.get(), 43);
  });
}

TEST(EachKind, OfTheFuturesOfAllRanks_HasADeadline) {
  wait_in_all_ways([](World& world, auto wait) {
    std::vector<Future<int>> each;
    each.push_back(world.async([] { return 41; }));
    each.push_back(world.async(answer_late));
    shoal::Futures<int> futures(std::move(each));
    EXPECT_EQ(futures.wait_for(0, 1ms), FutureStatus::ready);
    EXPECT_EQ(futures.wait_until(1, world.now_ns()), FutureStatus::timeout);
    wait(futures);
    EXPECT_THAT(futures.get(), ElementsAre(41, 42));
    EXPECT_THROW(std::ignore = futures.wait_for(1ms), shoal::CheckError);
    EXPECT_EQ(shoal::Futures<int>().wait_for(1h), FutureStatus::ready);
  });
}

TEST(EachKind, OfTheFuturesOfAllRanks_ThatComeTogether_HasADeadline) {
  wait_in_all_ways([](World& world, auto wait) {
    shoal::Futures<int> futures(world.async([] { return std::vector<int>{1, answer_late()}; }), 2);
    EXPECT_EQ(futures.wait_for(1, 1ms), FutureStatus::timeout);
    wait(futures);
    EXPECT_THAT(futures.get(), ElementsAre(1, 42));
  });
}

// Each of several futures has the time that is left, not all of it.
TEST(EachKind, OfTheFuturesOfAllRanks_HasOneDeadlineForAll) {
  in_virtual_time([](World& world) {
    std::vector<Future<void>> each;
    for (const auto delay : {700ms, 1400ms, 2100ms}) {
      each.push_back(world.async([delay] { shoal::sleep_for(delay); }));
    }
    shoal::Futures<void> futures(std::move(each));
    const std::uint64_t begin = world.now_ns();
    EXPECT_EQ(futures.wait_for(1s), FutureStatus::timeout);
    EXPECT_LE(world.now_ns() - begin, 1'000'000'000U + kFewSteps_ns);
    EXPECT_EQ(futures.wait_for(2s), FutureStatus::ready);
    futures.get();
  });
}

Future<int> coroutine(Future<int> other) { co_return 2 * co_await std::move(other); }

TEST(EachKind, OfACoroutine_HasADeadline) {
  wait_in_all_ways([](World& world, auto wait) {
    Future<int> future = coroutine(world.async(answer_late));
    wait(future);
    EXPECT_EQ(future.get(), 84);
  });
}

TEST(EachKind, OfACollectiveOperation_HasADeadline) {
  wait_in_all_ways([](World& world, auto wait) {
    if (world.rank() == 1) shoal::sleep_for(1s);
    Future<int> sum = world.allreduce_async(world.rank().value() + 1, std::plus<>());
    wait(sum);
    EXPECT_EQ(sum.get(), 3);
  });
}

TEST(EachKind, OfACollectiveOperation_IsContinuedAndCombined) {
  in_virtual_time(
      [](World& world) {
        if (world.rank() == 1) shoal::sleep_for(1s);
        std::vector<int> values{1, 2, 3};
        Future<void> barrier = world.barrier_async();
        Future<void> array = world.allreduce_async(std::span(values), std::plus<>());
        Future<int> text = world.broadcast_async(5, Rank(0)).then([](int x) { return x + 1; });
        auto [number] =
            shoal::when_all(std::move(barrier), std::move(array), std::move(text)).get();
        EXPECT_EQ(number, 6);
        EXPECT_THAT(values, ElementsAre(2, 4, 6));
        world.wait();
      },
      2);
}

TEST(EachKind, OfThePayloadOfALargeMessage_TellsWhenItMayBeReused) {
  in_virtual_time(
      [](World& world) {
        std::vector<int> place;
        int released = 0;
        const auto message = world.make_large_am<int>(
            [&](std::size_t count) {
              place.resize(count);
              return std::span(place);
            },
            [](std::span<int> /*data*/) {}, [&] { ++released; });
        if (world.rank() == 0) {
          const std::vector<int> payload(100'000, 7);
          Future<void> sent = message.send_async(Rank(1), payload);
          EXPECT_EQ(sent.wait_for(1h), FutureStatus::ready);
          EXPECT_EQ(released, 1);
          sent.get();
          message.multicast_async(shoal::Recipients(std::vector{Rank(1)}), payload).get();
          EXPECT_EQ(released, 2);
        }
        world.wait();
        if (world.rank() == 1) {
          EXPECT_EQ(place.at(99'999), 7);
        }
      },
      2);
}

/// Far memory: each access is a message.
shoal::GlobalMemoryOptions far() {
  return {.name = "m",
          .heap_bytes = std::size_t{1} << 20U,
          .checks = shoal::GlobalMemoryOptions::Checks::on};
}

Future<int> after(Transfer first, Transfer second) {
  co_await std::move(first);
  co_await second;
  co_return 1;
}

TEST(EachKind, OfATransfer_IsWaitedForInEachForm) {
  in_virtual_time(
      [](World& world) {
        GlobalMemory memory(world, far());
        const auto place = memory.collective_allocate<int>(4);
        world.barrier();
        if (world.rank() == 0) {
          std::vector<int> values{1, 2, 3, 4};
          std::vector<int> got(4);
          Transfer put = memory.put(place.on(Rank(1)), std::span<const int>(values));
          EXPECT_FALSE(put.is_ready());
          EXPECT_EQ(put.wait_for(0s), FutureStatus::timeout);
          EXPECT_EQ(put.wait_for(1ns), FutureStatus::timeout);
          EXPECT_EQ(put.wait_until(world.now_ns() + 1'000'000'000), FutureStatus::ready);
          put.wait();
          EXPECT_TRUE(put.is_ready());
          EXPECT_EQ(put.wait_for(0s), FutureStatus::ready);
          const auto get = [&] { return memory.get_async(place.on(Rank(1)), std::span(got)); };
          EXPECT_EQ(get().then([&] { return got[3]; }).get(), 4);
          EXPECT_EQ(Transfer().then([] { return 2; }).get(), 2);
          got.assign(4, 0);
          EXPECT_EQ(after(get(), Transfer()).get(), 1);
          EXPECT_THAT(got, ElementsAre(1, 2, 3, 4));
          got.assign(4, 0);
          std::vector<Transfer> several;
          several.push_back(get());
          several.push_back(memory.put(place.on(Rank(1)), 9));
          several.emplace_back();
          Future<void> all = when_all(std::move(several));
          EXPECT_EQ(all.wait_for(1s), FutureStatus::ready);
          all.get();
          EXPECT_EQ(got[1], 2);
          auto [one, two] =
              shoal::when_all(memory.get_async(place.on(Rank(1))), get(), world.async([] {
                return std::string("two");
              })).get();
          EXPECT_EQ(one, 9);
          EXPECT_EQ(two, "two");
          std::vector<Transfer> some;
          some.push_back(get());
          some.push_back(get());
          auto any = when_any(std::move(some)).get();
          for (Transfer& each : any.futures) each.wait();
        }
        world.wait();
      },
      2);
}

TEST(EachKind, OfATransferThatIsRefused_GetsTheError) {
  in_virtual_time(
      [](World& world) {
        GlobalMemory memory(world, far());
        if (world.rank() == 0) {
          const auto gone = memory.allocate_on<int>(Rank(1));
          memory.free(gone);
          const auto text = [](auto f) -> std::string {
            try {
              f();
            } catch (const shoal::CheckError& error) {
              return error.what();
            }
            return "nothing was thrown";
          };
          const auto refused = HasSubstr("nothing is allocated there");
          Transfer put = memory.put(gone, 1);
          EXPECT_EQ(put.wait_for(1h), FutureStatus::ready);
          EXPECT_THAT(text([&] { put.wait(); }), refused);
          Future<int> then = memory.put(gone, 1).then([] { return 1; });
          EXPECT_THAT(text([&] { then.get(); }), refused);
          Future<int> awaited = after(memory.put(gone, 1), Transfer());
          EXPECT_THAT(text([&] { awaited.get(); }), refused);
          Future<void> both = shoal::when_all(memory.put(gone, 1), memory.put(gone, 2));
          EXPECT_THAT(text([&] { both.get(); }), refused);
          Future<int> value = memory.get_async(gone);
          EXPECT_EQ(value.wait_for(1h), FutureStatus::ready);
          EXPECT_THAT(text([&] { value.get(); }), refused);
        }
        world.wait();
      },
      2);
}

// --- continuations that may be given up

TEST(EachKind, OfAContinuationThatAsksAStopToken_IsGivenUp) {
  in_virtual_time([](World& world) {
    std::stop_source source;
    const auto half = [stop = source.get_token()](int x) -> std::optional<int> {
      return stop.stop_requested() ? std::nullopt : std::optional<int>(x / 2);
    };
    Future<std::optional<int>> first = world.async(answer_late).then(half);
    EXPECT_EQ(first.get(), 21);
    Future<std::optional<int>> second = world.async(answer_late).then(half);
    EXPECT_EQ(second.wait_for(10ms), FutureStatus::timeout);
    source.request_stop();
    EXPECT_EQ(second.get(), std::nullopt);
  });
}

// --- what is refused, and failures

TEST(Deadline, InAHandler_IsRefused) {
  EXPECT_THAT(error_of([](World& world) {
                Promise<int> promise("asked for in a handler");
                auto future = promise.future();
                const auto message = world.make_am([&] { std::ignore = future.wait_for(1s); });
                message.send(world.rank());
                world.wait();
              }),
              HasSubstr("a handler must not"));
  EXPECT_THAT(error_of([](World& world) {
                const auto message = world.make_am([] { std::ignore = Transfer().wait_for(1s); });
                message.send(world.rank());
                world.wait();
              }),
              HasSubstr("a handler must not"));
}

TEST(Deadline, WhenTheWorldFails_IsCancelled) {
  const std::string error = error_of([](World& world) {
    Promise<int> promise;
    auto future = promise.future();
    world.spawn([&] {
      EXPECT_THROW(std::ignore = future.wait_for(1000h), shoal::CancelledError);
      EXPECT_LT(world.now_ns(), 1'000'000'000'000U);
      throw shoal::CancelledError("told");
    });
    world.spawn([] {
      shoal::sleep_for(1s);
      throw std::runtime_error("the world's");
    });
    std::ignore = future.wait_for(1000h);
  });
  EXPECT_THAT(error, HasSubstr("the world's"));
}

// --- when_all() and when_any() that are dropped

TEST(Dropped, BeforeTheirParts_LeaveThem) {
  in_virtual_time([](World&) {
    std::vector<Promise<int>> promises(3);
    const auto futures = [&] {
      std::vector<Future<int>> all;
      for (auto& promise : promises) {
        promise = Promise<int>();
        all.push_back(promise.future());
      }
      return all;
    };
    { const auto dropped = when_all(futures()); }
    for (auto& promise : promises) promise.set_value(1);
    { const auto dropped = when_any(futures()); }
    for (auto& promise : promises) promise.set_value(1);
    {  // of others
      std::vector<Future<std::vector<int>>> outer;
      outer.push_back(when_all(futures()));
      const auto dropped = when_any(std::move(outer));
    }
    for (auto& promise : promises) promise.set_value(1);
    {  // the rest of them stay
      auto any = when_any(futures());
      promises[1].set_value(1);
      auto ready = any.get();
      EXPECT_EQ(ready.index, 1U);
      promises[0].set_value(3);
      EXPECT_EQ(ready.futures[0].get(), 3);
    }
    promises[2].set_value(1);
  });
}

TEST(Dropped, WithAnErrorInAPart_FailTheWorldLikeThatPart) {
  EXPECT_THAT(error_of([](World& world) {
                Promise<int> one("one");
                Promise<int> two("two");
                { const auto dropped = shoal::when_all(one.future(), two.future()); }
                one.set_exception(std::make_exception_ptr(std::runtime_error("nobody's")));
                two.set_value(1);
                world.wait();
              }),
              HasSubstr("nobody's"));
}

// --- races of the end, the deadline and the failure

TEST(DeadlineRace, InManyOrders_LosesNoValue) {
  int ready = 0;
  int timeouts = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 2, .workers = 2}, [&](World& world) {
      for (int i = 0; i < 4; ++i) {
        Promise<int> promise;
        Future<int> future = promise.future();
        world.spawn([&] {
          shoal::sleep_for(std::chrono::nanoseconds(1000 + 7 * seed % 100));
          promise.set_value(i);
        });
        const bool in_time = future.wait_for(1050ns) == FutureStatus::ready;
        (in_time ? ready : timeouts) += 1;
        EXPECT_EQ(future.get(), i);
        world.wait();
      }
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
  }
  EXPECT_GT(ready, 0);
  EXPECT_GT(timeouts, 0);
}

TEST(DeadlineRace, OnThreads_LosesNoValue) {
  const auto program = [](World& world) {
    for (int i = 0; i < 2000; ++i) {
      const auto late = [i] {
        for (int spin = 0; spin < i % 50; ++spin) shoal::yield();
        return i;
      };
      const SharedFuture<int> shared = world.async(late).share();
      Future<int> own = world.async(late);
      world.spawn([shared, i] {
        std::ignore = shared.wait_for(std::chrono::microseconds(i % 20));
        EXPECT_EQ(shared.get(), i);
      });
      std::vector<Future<int>> both;
      both.push_back(shared.then([](int x) { return x; }));
      both.push_back(world.async(late));
      auto any = when_any(std::move(both));
      if (i % 3 != 0) std::ignore = any.wait_for(std::chrono::microseconds(i % 10));
      if (i % 2 == 0) any = {};
      std::ignore = own.wait_for(std::chrono::microseconds(i % 20));
      EXPECT_EQ(own.get(), i);
      if (any.valid()) {
        auto ready = any.get();
        for (auto& each : ready.futures) EXPECT_EQ(each.get(), i);
      }
      world.wait();
    }
  };
  EXPECT_EQ(run_world(1, 2, program), 0);
}

}  // namespace sched_deadline_test
