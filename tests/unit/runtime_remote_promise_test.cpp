// Promises that other ranks fulfil, and calls that bring back a value.

#include <shoal/shoal.hpp>

#include <shoal/sleep.hpp>
#include <shoal/when.hpp>

#include "support/sizes.hpp"
#include "support/wait_world.hpp"
#include "team/messenger.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace runtime_remote_promise_test {

using shoal::Delivery;
using shoal::Future;
using shoal::MessageContext;
using shoal::Promise;
using shoal::Rank;
using shoal::RemoteError;
using shoal::RemotePromise;
using shoal::StuckError;
using shoal::TaskError;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::text_of;
using testing::AllOf;
using testing::HasSubstr;

class Remote : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  template <class F>
  static void run(F program) {
    const auto [ranks, workers] = GetParam();
    EXPECT_EQ(run_world(ranks, workers, program), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(RanksAndWorkers, Remote,
                         testing::Combine(testing::Values(1, 2, 4), testing::Values(1, 2)));

Rank next_of(const World& world) { return Rank((world.rank().value() + 1) % world.size()); }

// --- calls

int add(int a, int b) { return a + b; }
int rank_and(World& world, int x) { return 100 * world.rank().value() + x; }
void nothing(std::string) {}
std::map<std::string, std::vector<int>> collect(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<int>> result;
  for (const std::string& name : names) result[name].assign(name.size(), 7);
  return result;
}
int throws(int x) { throw std::runtime_error("cannot do " + std::to_string(x)); }

/// Waits inside: each rank asks the next one.
int ask_round(World& world, int hops) {
  if (hops == 0) return world.rank().value();
  return 1000 + world.call(next_of(world), shoal::am<ask_round>, hops - 1).get();
}

TEST_P(Remote, Call_BringsBackWhatTheFunctionReturns) {
  run([](World& world) {
    for (int target = 0; target < world.size(); ++target) {
      EXPECT_EQ(world.call(Rank(target), shoal::am<add>, 2, 3).get(), 5);
      EXPECT_EQ(world.call(Rank(target), shoal::am<rank_and>, 9).get(), 100 * target + 9);
      world.call(Rank(target), shoal::am<nothing>, std::string(100, 'x')).get();
      EXPECT_EQ(
          world
              .call(
                  Rank(target), [](World& there, int x) { return there.rank().value() - x; }, 1)
              .get(),
          target - 1);
      const auto collected =
          world.call(Rank(target), shoal::am<collect>, std::vector<std::string>{"a", "bcd"}).get();
      EXPECT_EQ(collected.at("bcd"), std::vector<int>(3, 7));
      const auto large =
          world
              .call(
                  Rank(target), [](std::size_t n) { return std::vector<double>(n, 0.5); },
                  std::size_t{300'000})
              .get();
      EXPECT_EQ(large, std::vector<double>(300'000, 0.5));
    }
    world.wait();
  });
}

TEST_P(Remote, Call_OfAFunctionThatThrows_GivesRemoteErrorAndTheWorldGoesOn) {
  run([](World& world) {
    const Rank target = next_of(world);
    auto future = world.call(target, shoal::am<throws>, 5);
    try {
      future.get();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.rank(), target);
      EXPECT_EQ(error.text(), "cannot do 5");
      EXPECT_EQ(error.function(), "runtime_remote_promise_test::throws");
      EXPECT_EQ(error.what(), "runtime_remote_promise_test::throws failed on rank " +
                                  std::to_string(target.value()) + ", called by rank " +
                                  std::to_string(world.rank().value()) + ": cannot do 5");
    }
    auto of_void = world.call(target, [] { throw 3; });
    EXPECT_THROW(of_void.get(), RemoteError);
    world.wait();
    EXPECT_EQ(world.call(target, shoal::am<add>, 1, 1).get(), 2);
  });
}

TEST_P(Remote, Calls_MayWaitInside) {
  run([](World& world) {
    const int expected = 20 * 1000 + (world.rank().value() + 20) % world.size();
    EXPECT_EQ(world.call(Rank(world.rank()), shoal::am<ask_round>, 20).get(), expected);
    std::atomic<int> right{0};
    for (int i = 0; i < 30; ++i) {
      world.spawn([&] { right += ask_round(world, 20) == expected ? 1 : 0; });
    }
    world.wait();
    EXPECT_EQ(right.load(), 30);
  });
}

TEST_P(Remote, ThousandsOfCallsAtOnce_AllComeBack) {
  run([](World& world) {
    constexpr int kCalls = sized(2000, 300);
    std::vector<Future<int>> futures;
    for (int i = 0; i < kCalls; ++i) {
      futures.push_back(world.call(
          Rank(i % world.size()),
          [](World& there, int x) {
            if (x % 3 == 0) shoal::yield();
            return there.rank().value() + x;
          },
          i));
    }
    std::vector<int> values = shoal::when_all(std::move(futures)).get();
    for (int i = 0; i < kCalls; ++i) {
      ASSERT_EQ(values[static_cast<std::size_t>(i)], i + i % world.size());
    }
    world.wait();
  });
}

// --- promises

TEST_P(Remote, Promises_AreFulfilledByOtherRanks) {
  run([](World& world) {
    Promise<std::string> promise("for the others");
    auto future = promise.future();
    Promise<void> token;
    auto told = token.future();
    Promise<int> failing;
    auto failed = failing.future();
    const auto message =
        world.make_am([&world](const RemotePromise<std::string>& text,
                               const RemotePromise<void>& plain, const RemotePromise<int>& bad) {
          world.fulfill(text, "from rank " + std::to_string(world.rank().value()));
          world.spawn([&world, plain] { world.fulfill(plain); });
          world.fail(bad, "not today");
        });
    message.send(next_of(world), world.publish(std::move(promise)), world.publish(std::move(token)),
                 world.publish(std::move(failing)));
    EXPECT_EQ(future.get(), "from rank " + std::to_string(next_of(world).value()));
    told.get();
    try {
      failed.get();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.text(), "not today");
      EXPECT_EQ(error.rank(), next_of(world));
    }
    world.wait();
  });
}

TEST(RemotePromises, FulfilledTwice_FailTheWorldWithAClearText) {
  for (const int ranks : {1, 3}) {
    const std::string text = text_of<TaskError>(ranks, 2, [](World& world) {
      Promise<int> promise;
      auto future = promise.future();
      const auto published = world.publish(std::move(promise));
      const auto message =
          world.make_am([&world](const RemotePromise<int>& remote) { world.fulfill(remote, 1); });
      if (world.rank() == world.size() - 1) {
        message.send(Rank(0), published);
        future.get();
        message.send(Rank(0), published);
      }
      world.wait();
    });
    EXPECT_THAT(text, AllOf(HasSubstr("cannot be fulfilled"), HasSubstr("fulfilled already")));
  }
}

TEST(RemotePromises, FulfilledWithAnotherType_FailTheWorldWithAClearText) {
  for (const int ranks : {1, 3}) {
    const std::string text = text_of<TaskError>(ranks, 2, [](World& world) {
      Promise<int> promise;
      auto future = promise.future();
      const auto published = world.publish(std::move(promise));
      const auto message = world.make_am([&world](const RemotePromise<int>& remote) {
        world.fulfill(RemotePromise<double>{remote.rank, remote.in_world, remote.number}, 1.5);
      });
      if (world.rank() == world.size() - 1) message.send(Rank(0), published);
      world.wait();
    });
    EXPECT_THAT(text, HasSubstr("cannot be fulfilled with a value of another type"));
  }
}

TEST(RemotePromises, NeverFulfilled_AreReported) {
  const std::string text = text_of<StuckError>(2, 1, [](World& world) {
    Promise<int> promise("published in vain");
    auto future = promise.future();
    const auto published = world.publish(std::move(promise));
    static_cast<void>(published);
    if (world.rank() == 1) world.spawn([&future] { future.get(); }, {.name = "hopes"});
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("rank 1: 'hopes' waits in get() of 'published in vain'"));
}

TEST(Calls, ThatAreStuckElsewhere_AreReportedOnBothRanks) {
  const std::string text = text_of<StuckError>(2, 2, [](World& world) {
    if (world.rank() == 0) {
      world.call(Rank(1), [] { shoal::Semaphore(0, "never given").acquire(); }).get();
    }
  });
  EXPECT_THAT(text, AllOf(HasSubstr("' waits in acquire() of semaphore 'never"),
                          HasSubstr("rank 1: 'lambda "),
                          HasSubstr("rank 0: 'the main function' waits in get() of 'a call'")));
}

TEST(Calls, WhileTheWorldFails_EndEverywhere) {
  for (int round = 0; round < 10; ++round) {
    const std::string text = text_of<TaskError>(4, 2, [](World& world) {
      for (int i = 0; i < 50; ++i) {
        world.spawn([&world] {
          while (true) static_cast<void>(ask_round(world, 3));
        });
      }
      if (world.rank() == 2) {
        world.spawn([] {
          shoal::sleep_for(std::chrono::milliseconds(3));
          throw std::runtime_error("enough");
        });
      }
      shoal::sleep_for(std::chrono::hours(1));
    });
    EXPECT_THAT(text, HasSubstr("enough"));
  }
}

// --- functions with captures

TEST_P(Remote, FunctionsWithCaptures_BringBackWhatTheyReturn) {
  run([](World& world) {
    const int base = 10 * world.rank().value();
    const auto sum = world.make_function([base](int a, int b) { return base + a + b; });
    const auto joined = world.make_function(
        [base](World& there, const std::vector<std::string>& words, std::string_view end) {
          std::string text = std::to_string(base + there.size());
          for (const std::string& word : words) text += word;
          return text + std::string(end);
        },
        {Delivery::inlined});
    std::atomic<int> count{0};
    const auto nothing = world.make_function([&count] { ++count; });
    const auto asks_back = world.make_function([&](MessageContext context, int x) {
      return world.call(context.source(), sum, x, 1).get();
    });
    for (int target = 0; target < world.size(); ++target) {
      EXPECT_EQ(world.call(Rank(target), sum, 1, 2).get(), 10 * target + 3);
      EXPECT_EQ(joined.call(Rank(target), std::vector<std::string>{"a", "b"}, "c").get(),
                std::to_string(10 * target + world.size()) + "abc");
      nothing.call(Rank(target)).get();
      EXPECT_EQ(asks_back.call(Rank(target), 5).get(), base + 6);
    }
    world.wait();
    EXPECT_EQ(count.load(), world.size());
  });
}

TEST_P(Remote, FunctionWithCaptures_ThatThrows_GivesRemoteErrorAndTheWorldGoesOn) {
  run([](World& world) {
    const auto fails = world.make_function([&world](int x) -> int {
      throw std::runtime_error("rank " + std::to_string(world.rank().value()) + " dislikes " +
                               std::to_string(x));
    });
    const Rank target = next_of(world);
    try {
      static_cast<void>(fails.call(target, 4).get());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.text(), "rank " + std::to_string(target.value()) + " dislikes 4");
    }
    world.wait();
  });
}

TEST(Functions, OfATeam_AreCalledInTheTeamAndEndWithItsFailure) {
  EXPECT_EQ(
      run_world(4, 2,
                [](World& world) {
                  shoal::Team odd(world, {Rank(3), Rank(1)});
                  if (!odd.is_member()) return;
                  const auto who = odd.make_function([&odd](const MessageContext& context, int x) {
                    return std::tuple(
                        context.source().value(), context.world_source().value(),
                        context.get<shoal::Team>().rank().value() == odd.rank().value(), x);
                  });
                  const auto never = odd.make_function([&odd]() -> int {
                    odd.spawn([] { throw std::runtime_error("the team ends"); });
                    shoal::Semaphore(0, "never given").acquire();
                    return 1;
                  });
                  const Rank other(1 - odd.rank().value());
                  EXPECT_EQ(who.call(other, 7).get(),
                            std::tuple(odd.rank().value(), world.rank().value(), true, 7));
                  odd.barrier();  // else the failure may come before the answer
                  auto answer = never.call(other);
                  EXPECT_THROW(odd.wait(), TaskError);
                  EXPECT_THROW(static_cast<void>(answer.get()), TaskError);
                }),
      0);
}

// --- context of handlers

/// Service of a rank: sums what others send.
struct Ledger {
  explicit Ledger(int first) : sum(first) {}
  std::atomic<int> sum;
};

}  // namespace runtime_remote_promise_test

template <>
struct shoal::team::ContextOf<runtime_remote_promise_test::Ledger>
    : shoal::team::ServiceContext<runtime_remote_promise_test::Ledger> {};

namespace runtime_remote_promise_test {

void add_to(Ledger& ledger, int value) { ledger.sum += value; }

TEST_P(Remote, Handlers_FindTheirSenderAndTheServicesOfTheirRank) {
  run([](World& world) {
    auto& services = world.core().messenger().services();
    Ledger& ledger = services.obtain<Ledger>([] { return std::make_unique<Ledger>(100); });
    EXPECT_EQ(&services.obtain<Ledger>([]() -> std::unique_ptr<Ledger> { std::abort(); }), &ledger);
    world.barrier();
    std::atomic<int> sources{0};
    const auto by_source = world.make_am([&sources](MessageContext context, int rank) {
      sources += context.source() == rank && context.world_source() == rank ? 1 : 0;
      context.get<Ledger>().sum += 1;
    });
    for (int target = 0; target < world.size(); ++target) {
      by_source.send(Rank(target), world.rank().value());
      world.send(Rank(target), shoal::am<add_to>, 10);
      world.send(Rank(target), shoal::am<add_to, Delivery::task>, 1000);
    }
    world.wait();
    EXPECT_EQ(sources.load(), world.size());
    EXPECT_EQ(ledger.sum.load(), 100 + world.size() * 1011);
  });
}

TEST(Services, AreWithdrawnAndReplacedAndNamedWhenMissing) {
  shoal::team::Services services;
  EXPECT_EQ(services.find<Ledger>(), nullptr);
  Ledger first(1);
  Ledger second(2);
  int number = 3;
  services.provide(first);
  services.provide(number);
  EXPECT_EQ(services.get<Ledger>().sum, 1);
  services.provide(second);
  EXPECT_EQ(services.get<Ledger>().sum, 2);
  services.withdraw<Ledger>();
  EXPECT_EQ(services.find<Ledger>(), nullptr);
  EXPECT_EQ(services.get<int>(), 3);
  try {
    static_cast<void>(services.get<Ledger>());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const shoal::CheckError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no service of type"), HasSubstr("Ledger")));
  }
}

TEST(Services, MissingAtTheReceiver_FailTheWorldWithAClearText) {
  const std::string text = text_of<TaskError>(2, 1, [](World& world) {
    if (world.rank() == 0) world.send(Rank(1), shoal::am<add_to>, 1);
    world.wait();
  });
  EXPECT_THAT(text, AllOf(HasSubstr("no service of type"), HasSubstr("Ledger")));
}

}  // namespace runtime_remote_promise_test
