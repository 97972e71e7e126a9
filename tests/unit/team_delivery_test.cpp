// Where handlers run: in progress context, or as tasks with a priority.

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_world.hpp"
#include "support/turn_world.hpp"

#include <atomic>
#include <functional>
#include <set>
#include <thread>

namespace team_delivery_test {

using namespace shoal;
using shoal::testing::run_world;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Text of the error that wait() throws on this rank, or "".
std::string failure_of(World& world) {
  try {
    world.wait();
    return "";
  } catch (const TaskError& error) {
    return error.what();
  }
}

TEST(Inlined, Handlers_AreNoTasks) {
  EXPECT_EQ(run_world(2, 2,
                      [](World& world) {
                        auto message = world.make_am([](int) {});
                        for (int i = 0; i < 100; ++i) message.send(Rank(i % 2), i);
                        world.wait();
                        EXPECT_EQ(world.statistics().tasks_run, 0U);
                        EXPECT_EQ(world.statistics().messages_received, 100U);
                      }),
            0);
}

TEST(Inlined, HandlersOfOneRank_NeverRunAtOnce) {
  constexpr int kCount = 500;
  EXPECT_EQ(run_world(2, 4,
                      [](World& world) {
                        int calls = 0;  // plain: ThreadSanitizer would see two at once
                        auto message = world.make_am([&](int) { ++calls; });
                        for (int t = 0; t < 4; ++t) {
                          world.spawn([&] {
                            for (int i = 0; i < kCount; ++i) message.send(Rank(i % 2), i);
                          });
                        }
                        world.wait();
                        EXPECT_EQ(calls, 4 * kCount);
                      }),
            0);
}

TEST(Inlined, HandlerThatWouldBlock_FailsAndSaysSo) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        auto message = world.make_am([&] { world.barrier(); }, {.name = "blocker"});
                        if (world.rank() == 0) message.send(Rank(1));
                        EXPECT_THAT(failure_of(world),
                                    AllOf(HasSubstr("rank 1"), HasSubstr("blocker"),
                                          HasSubstr("barrier"), HasSubstr("handler")));
                      }),
            0);
}

TEST(Inlined, WaitInAHandler_FailsAndSaysSo) {
  EXPECT_EQ(run_world(1, 2,
                      [](World& world) {
                        auto message = world.make_am([&] { world.wait(); });
                        message.send(Rank(0));
                        EXPECT_THAT(failure_of(world),
                                    AllOf(HasSubstr("wait()"), HasSubstr("in handler")));
                      }),
            0);
}

TEST(Inlined, ThrowingHandler_FailsEveryRankWithItsName) {
  EXPECT_EQ(
      run_world(3, 2,
                [](World& world) {
                  auto message =
                      world.make_am([](const std::string& text) { throw std::runtime_error(text); },
                                    {.name = "thrower"});
                  if (world.rank() == 1) message.send(Rank(2), "the text");
                  EXPECT_THAT(failure_of(world), AllOf(HasSubstr("rank 2"), HasSubstr("thrower"),
                                                       HasSubstr("the text")));
                }),
      0);
}

TEST(Inlined, HandlerWithoutName_IsNamedByItsNumberAndItsFunction) {
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        auto message = world.make_am([] { throw std::runtime_error("oh"); });
                        message.send(Rank(0));
                        EXPECT_THAT(failure_of(world),
                                    ContainsRegex("active message [0-9]+ [(]lambda (in|at) "));
                      }),
            0);
}

void throw_text(const std::string& text) { throw std::runtime_error(text); }

TEST(Static, ThrowingFunction_IsNamedInTheError) {
  for (const bool as_task : {false, true}) {
    EXPECT_EQ(run_world(2, 1,
                        [as_task](World& world) {
                          if (world.rank() == 0 && as_task) {
                            world.send(Rank(1), am<throw_text, Delivery::task>, "static text");
                          } else if (world.rank() == 0) {
                            world.send(Rank(1), am<throw_text>, "static text");
                          }
                          EXPECT_THAT(failure_of(world),
                                      AllOf(HasSubstr(": team_delivery_test::throw_text failed"),
                                            HasSubstr("static text"), Not(HasSubstr("Function"))));
                        }),
              0);
  }
}

TEST(Static, ThrowingLambda_IsNamedByWhereItStands) {
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        world.send(
                            Rank(0), [](int n) { throw std::runtime_error(std::to_string(n)); }, 5);
                        EXPECT_THAT(failure_of(world),
                                    AllOf(ContainsRegex(": lambda (in .*Static_ThrowingLambda.*|at "
                                                        "team_delivery_test.cpp:[0-9]+) failed"),
                                          Not(HasSubstr("Closure"))));
                      }),
            0);
}

TEST(Task, ThrowingHandler_FailsEveryRankWithItsName) {
  EXPECT_EQ(
      run_world(3, 2,
                [](World& world) {
                  auto message =
                      world.make_am([](const std::string& text) { throw std::runtime_error(text); },
                                    {.delivery = Delivery::task, .name = "thrower"});
                  // Many more stand behind it: they are dropped, and what they hold is freed.
                  for (int i = 0; i < 100; ++i) message.send(Rank(2), std::string(50, 'x'));
                  EXPECT_THAT(failure_of(world),
                              AllOf(HasSubstr("rank 2"), HasSubstr("thrower"), HasSubstr("xxx")));
                }),
      0);
}

TEST(Task, Handlers_AreTasksAndMayRunAtOnce) {
  EXPECT_EQ(run_world(2, 2,
                      [](World& world) {
                        std::atomic<int> inside{0};
                        // Each waits for the other: only two workers can end this.
                        auto meet = world.make_am(
                            [&] {
                              ++inside;
                              while (inside < 2) std::this_thread::yield();
                            },
                            {.delivery = Delivery::task});
                        if (world.rank() == 0) {
                          meet.send(Rank(1));
                          meet.send(Rank(1));
                        }
                        world.wait();
                        EXPECT_EQ(world.statistics().tasks_run, world.rank() == 1 ? 2U : 0U);
                      }),
            0);
}

TEST(Task, PriorityOfTheHandler_DecidesWhatRunsFirst) {
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        std::vector<int> order;
                        const auto note = [&](int priority) {
                          return world.make_am([&order, priority] { order.push_back(priority); },
                                               {.delivery = Delivery::task, .priority = priority});
                        };
                        auto low = note(-3);
                        auto middle = note(0);
                        auto high = note(9);
                        // One worker, and it is busy with this function: all wait in one packet.
                        for (const auto* message : {&low, &middle, &high, &low, &high}) {
                          message->send(Rank(0));
                        }
                        world.wait();
                        EXPECT_THAT(order, ElementsAre(9, 9, 0, -3, -3));
                      }),
            0);
}

TEST(Task, HandlersOfOnePriority_StartInTheOrderSent) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto result = shoal::testing::run_turns({seed, 3, 1, {1024, 2048}}, [](World& world) {
      std::vector<int> next(static_cast<std::size_t>(world.size()), 0);
      auto message = world.make_am(
          [&](int from, int number, std::span<const int> payload) {
            EXPECT_EQ(number, next[static_cast<std::size_t>(from)]++);
            EXPECT_EQ(payload.size(), static_cast<std::size_t>(number % 100));
          },
          {.delivery = Delivery::task});
      const std::vector<int> payload(100);
      for (int i = 0; i < 200; ++i) {
        const auto part = std::span(payload).first(static_cast<std::size_t>(i % 100));
        for (int to = 0; to < world.size(); ++to) message.send(Rank(to), world.rank(), i, part);
      }
      world.wait();
      EXPECT_THAT(next, ::testing::Each(200));
      return 0;
    });
    EXPECT_THAT(result.exit_codes, ::testing::Each(0));
  }
}

// The packet lives until the last of its tasks has run.
TEST(Task, ViewsOfTheMessage_StayValidWhileTheTaskRuns) {
  EXPECT_EQ(run_world(2, 3,
                      [](World& world) {
                        std::atomic<int> calls{0};
                        auto message = world.make_am(
                            [&](int i, std::span<const int> numbers, std::string_view text) {
                              for (int round = 0; round < 20; ++round) {
                                for (const int n : numbers) EXPECT_EQ(n, i);
                                EXPECT_EQ(text.size(), static_cast<std::size_t>(i % 30));
                                std::this_thread::yield();
                              }
                              ++calls;
                            },
                            {.delivery = Delivery::task});
                        for (int i = 0; i < 200; ++i) {
                          const std::vector<int> numbers(static_cast<std::size_t>(i), i);
                          message.send(Rank(1 - world.rank()), i, numbers,
                                       std::string(static_cast<std::size_t>(i % 30), 'v'));
                        }
                        world.wait();
                        EXPECT_EQ(calls, 200);
                      },
                      {"--packet-bytes", "2K", "--window-bytes", "8K"}),
            0);
}

TEST(Task, HandlersThatSpawnAndSend_AreWaitedFor) {
  EXPECT_EQ(run_world(4, 2,
                      [](World& world) {
                        std::atomic<int> leaves{0};
                        std::optional<ActiveMessage<int>> grow;
                        grow = world.make_am(
                            [&](int depth) {
                              if (depth == 0) {
                                world.spawn([&] { ++leaves; });
                                return;
                              }
                              grow->send(Rank((world.rank() + 1) % world.size()), depth - 1);
                              grow->send(Rank((world.rank() + 2) % world.size()), depth - 1);
                            },
                            {.delivery = Delivery::task});
                        if (world.rank() == 0) grow->send(Rank(3), 10);
                        world.wait();
                        const int total = world.allreduce(leaves.load(), std::plus<int>());
                        EXPECT_EQ(total, 1024);
                      }),
            0);
}

// --- messages that keep coming

// With one worker: it must turn to the tasks between messages to itself.
TEST(StarvingByMessages, Task_RunsThoughAMessageToItselfKeepsComing) {
  for (const auto delivery : {Delivery::inlined, Delivery::task}) {
    const int code = run_world(1, 1, [delivery](World& world) {
      bool done = false;
      int tries_left = 1'000'000;
      std::optional<ActiveMessage<>> again;
      again = world.make_am(
          [&] {
            if (!done && --tries_left > 0) again->send(Rank(0));
          },
          {.delivery = delivery});
      again->send(Rank(0));
      world.spawn([&done] { done = true; });
      world.wait();
      EXPECT_GT(tries_left, 0);
    });
    EXPECT_EQ(code, 0);
  }
}

}  // namespace team_delivery_test
