// Messages for handlers that their target has not made yet, has made differently, or has destroyed.

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"
#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>

namespace team_held_test {

using namespace shoal;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Collective: when nothing moves any more, `count` messages are held back on rank 0. A large one
/// counts twice: its release waits as well.
void expect_held(World& world, std::uint64_t count) {
  EXPECT_THROW(world.wait(), StuckError);
  EXPECT_EQ(world.core().messenger().unexpected().count(), world.rank() == 0 ? count : 0);
}

/// Collective: all come together, `act` follows on rank 1, and all wait. A rank that is slow to
/// leave the barrier may hear of the error there.
template <class F>
std::string task_error_after_barrier(World& world, F act) {
  try {
    world.barrier();
    if (world.rank() == 1) act();
    world.wait();
    return "";
  } catch (const TaskError& error) {
    return error.what();
  }
}

std::string task_error_of(World& world) {
  try {
    world.wait();
    return "";
  } catch (const TaskError& error) {
    return error.what();
  }
}

std::string stuck_error_of(World& world) {
  try {
    world.wait();
    return "";
  } catch (const StuckError& error) {
    return error.what();
  }
}

struct Shape {
  int ranks;
  int workers;
};

class Held : public ::testing::TestWithParam<Shape> {
 protected:
  template <class F>
  void run(F function, const std::vector<std::string>& more = {}) {
    EXPECT_EQ(run_world(GetParam().ranks, GetParam().workers, std::move(function), more), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Shapes, Held, ::testing::Values(Shape{2, 1}, Shape{2, 3}, Shape{4, 2}));

// Rank 0 is late; all others send.
TEST_P(Held, MessagesForALaterHandler_WaitAndRunInOrder) {
  constexpr int kCount = 200;
  run([](World& world) {
    std::vector<int> next(static_cast<std::size_t>(world.size()), 0);
    const auto make = [&] {
      return world.make_am([&](int from, int number, const std::string& text) {
        EXPECT_EQ(number, next[static_cast<std::size_t>(from)]++);
        EXPECT_EQ(text, std::to_string(number));
      });
    };
    std::optional<ActiveMessage<int, int, std::string>> message;
    if (world.rank() != 0) {
      message.emplace(make());
      for (int i = 0; i < kCount; ++i) {
        message->send(Rank(0), world.rank().value(), i, std::to_string(i));
      }
    }
    expect_held(world, static_cast<std::uint64_t>(kCount * (world.size() - 1)));
    EXPECT_THAT(next, Each(0));
    if (world.rank() == 0) message.emplace(make());
    world.wait();
    if (world.rank() == 0) {
      EXPECT_THAT(std::span(next).subspan(1), Each(kCount));
    }
  });
}

TEST_P(Held, MessagesOfOtherKinds_StayBehindThem) {
  run([](World& world) {
    std::vector<int> order;
    std::vector<int> place(1000);
    auto early = world.make_am([&](int number) { order.push_back(number); });
    auto large = world.make_large_am<int>(
        [&](std::size_t size, int number) {
          order.push_back(number);
          return std::span(place).first(size);
        },
        [](std::span<int>, int) {}, [](int) {});
    const auto make = [&] { return world.make_am([&](int number) { order.push_back(number); }); };
    std::optional<ActiveMessage<int>> late;
    const std::vector<int> payload(1000);
    if (world.rank() != 0) late.emplace(make());
    if (world.rank() == 1) {
      early.send(Rank(0), 0);
      late->send(Rank(0), 1);
      early.send(Rank(0), 2);
      large.send(Rank(0), std::span<const int>(payload), 3);
      late->send(Rank(0), 4);
      large.send(Rank(0), std::span<const int>(payload).first(0), 5);
    }
    expect_held(world, 7);
    if (world.rank() == 0) {
      EXPECT_THAT(order, ElementsAre(0));
      late.emplace(make());
    }
    world.wait();
    if (world.rank() == 0) {
      EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5));
    }
  });
}

TEST_P(Held, SeveralLateHandlers_AreWaitedForOneByOne) {
  run([](World& world) {
    std::vector<int> order;
    const auto make = [&] { return world.make_am([&](int number) { order.push_back(number); }); };
    std::vector<ActiveMessage<int>> all;
    if (world.rank() == 1) {
      for (int i = 0; i < 3; ++i) all.push_back(make());
      for (int i = 0; i < 6; ++i) all[static_cast<std::size_t>(i % 3)].send(Rank(0), i);
    }
    for (std::size_t made = 0; made < 3; ++made) {
      // The first message for the next handler holds back all behind it.
      expect_held(world, 6 - made);
      EXPECT_EQ(order.size(), world.rank() == 0 ? made : 0);
      if (world.rank() != 1) all.push_back(make());
    }
    world.wait();
    if (world.rank() == 0) {
      EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5));
    }
  });
}

TEST_P(Held, LateLargeMessage_CarriesItsPayload) {
  run([](World& world) {
    std::vector<double> place;
    int released = 0;
    const auto make = [&] {
      return world.make_large_am<double>(
          [&](std::size_t size, const std::string& text) {
            EXPECT_EQ(text, "late");
            place.resize(size);
            return std::span(place);
          },
          [](std::span<double> data, const std::string&) { EXPECT_THAT(data, Each(2.5)); },
          [&](const std::string&) { ++released; });
    };
    std::optional<LargeMessage<double, std::string>> message;
    const std::vector<double> payload(5000, 2.5);
    if (world.rank() != 0) message.emplace(make());
    if (world.rank() == 1) message->send(Rank(0), std::span<const double>(payload), "late");
    expect_held(world, 2);
    if (world.rank() == 0) message.emplace(make());
    world.wait();
    EXPECT_EQ(place.size(), world.rank() == 0 ? 5000U : 0U);
    EXPECT_EQ(released, world.rank() == 1 ? 1 : 0);
  });
}

// More than the window. Nothing leaves it before the main function of the receiver pauses.
TEST_P(Held, FloodWhileTheMainFunctionRuns_StaysInTheWindow) {
  const int count = sized(20'000, 4'000);  // of 8 bytes: the window is full before the last one
  constexpr std::size_t kWindow = 16 * 1024;
  std::atomic<bool> is_running{false};  // the receiver's main function: until then it does not hold
  run(
      [&](World& world) {
        int next = 0;
        std::optional<ActiveMessage<int>> message;
        const auto make = [&] {
          message.emplace(world.make_am([&](int number) { EXPECT_EQ(number, next++); }));
        };
        if (world.rank() == 1) {
          make();
          while (!is_running) std::this_thread::yield();
          for (int i = 0; i < count; ++i) message->send(Rank(0), i);
        }
        if (world.rank() == 0) {
          is_running = true;
          const net::Link& link =
              world.core().messenger().fabric().link(Rank(1), Rank(0), net::Lane::normal);
          // Other workers may keep them; if they do so outside the window, all come.
          while (link.in_flight_bytes() < kWindow &&
                 link.message_count() < static_cast<std::uint64_t>(count)) {
            std::this_thread::yield();
          }
          for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
          EXPECT_LE(link.state().byte_count, kWindow + kWindow / 16);
          make();
        }
        if (world.rank() > 1) make();
        world.wait();
        EXPECT_EQ(next, world.rank() == 0 ? count : 0);
      },
      {"--window-bytes", "16K", "--packet-bytes", "1K"});
}

TEST_P(Held, HandlerThatIsNeverMade_IsNamedByWaitAndMayBeMadeThen) {
  run([](World& world) {
    std::vector<std::string> texts;
    const auto make = [&] {
      return world.make_am([&](const std::string& text) { texts.push_back(text); });
    };
    std::optional<ActiveMessage<std::string>> message;
    if (world.rank() != 0) message.emplace(make());
    if (world.rank() == 1) message->send(Rank(0), "for later");
    EXPECT_THAT(stuck_error_of(world),
                AllOf(HasSubstr("rank 0: messages from rank 1 are for active message 0 ("),
                      HasSubstr("which was never made here ("), HasSubstr(" bytes wait)")));
    EXPECT_TRUE(texts.empty());
    if (world.rank() == 0) message.emplace(make());
    world.wait();
    EXPECT_EQ(texts.size(), world.rank() == 0 ? 1U : 0U);
  });
}

TEST(HeldForever, ObjectsInTheMessages_AreFreed) {
  const auto shared = make_immutable<std::string>("shared");
  EXPECT_EQ(run_world(2, 1,
                      [&](World& world) {
                        std::optional<ActiveMessage<Immutable<std::string>>> message;
                        if (world.rank() == 1) {
                          message.emplace(world.make_am([](const Immutable<std::string>&) {}));
                          for (int i = 0; i < 10; ++i) message->send(Rank(0), shared);
                        }
                        EXPECT_NE(stuck_error_of(world), "");
                      }),
            1);
  EXPECT_EQ(shared.use_count(), 1U);
}

/// Arguments that count themselves.
struct CountedObject final : net::ObjectMessage {
  explicit CountedObject(int& count) : live(count) { ++live; }
  CountedObject(const CountedObject&) = delete;
  ~CountedObject() override { --live; }
  int& live;
};

// The end of a failed world drops the messages that wait.
TEST(HeldForever, PartsOfPackets_OwnTheObjectsThatAreLeftInThem) {
  int live = 0;
  std::vector<std::unique_ptr<CountedObject>> handled;
  const auto make_part = [&](bool are_handled = false) {
    const net::MessageHeader header{net::kObjectBit | net::kInstanceBit, 7, sizeof(void*)};
    net::PacketHolder packet(net::Packet::create(1024));
    for (int i = 0; i < 3; ++i) {
      auto* const object = new CountedObject(live);
      if (are_handled) handled.emplace_back(object);
      const auto bits = reinterpret_cast<std::uintptr_t>(object);
      std::memcpy(packet->add_message(header).data(), &bits, sizeof bits);
    }
    return team::PacketPart(std::move(packet));
  };
  { const team::PacketPart part = make_part(); }
  EXPECT_EQ(live, 0);
  {
    team::PacketPart part = make_part();
    team::PacketPart other = make_part();
    part = std::move(other);
    EXPECT_EQ(live, 6);  // each is one of the two
  }
  EXPECT_EQ(live, 0);
  {
    team::PacketPart part = make_part(true);
    part.offset = part.packet->messages().size();
  }
  EXPECT_EQ(live, 3);
}

TEST_P(Held, FailureWhileMessagesAreHeld_DropsThem) {
  const auto shared = make_immutable<std::string>("shared");
  run([&](World& world) {
    std::vector<int> place(10);
    const std::vector<int> payload(10);
    std::optional<ActiveMessage<Immutable<std::string>>> message;
    std::optional<LargeMessage<int>> large;
    if (world.rank() != 0) {
      message.emplace(world.make_am([](const Immutable<std::string>&) { ADD_FAILURE(); }));
      large.emplace(world.make_large_am<int>([&](std::size_t) { return std::span(place); },
                                             [](std::span<int>) { ADD_FAILURE(); }, [] {}));
    }
    if (world.rank() == 1) {
      for (int i = 0; i < 10; ++i) message->send(Rank(0), shared);
      large->send(Rank(0), std::span<const int>(payload));
    }
    expect_held(world, 12);
    // Only once rank 0 has looked; a barrier would wait behind what is held.
    if (world.rank() == 0) {
      world.send(Rank(world.size() - 1), [](World& last) {
        last.spawn([] { throw std::runtime_error("unrelated"); }, {.name = "failing task"});
      });
    }
    EXPECT_THAT(task_error_of(world), AllOf(HasSubstr("failing task"), HasSubstr("unrelated")));
  });
  EXPECT_EQ(shared.use_count(), 1U);
}

// --- made in another order

TEST_P(Held, HandlersMadeInAnotherOrder_AreNamed) {
  run([](World& world) {
    // Ranks disagree about which comes first.
    std::optional<ActiveMessage<int>> number;
    std::optional<ActiveMessage<std::string>> text;
    const auto make_number = [&] {
      number.emplace(world.make_am([](int) { ADD_FAILURE(); }, {.name = "number"}));
    };
    const auto make_text = [&] {
      text.emplace(world.make_am([](const std::string&) { ADD_FAILURE(); }, {.name = "text"}));
    };
    if (world.rank() == 0) make_text();
    make_number();
    if (world.rank() != 0) make_text();
    if (world.rank() == 1) text->send(Rank(0), std::string(100, 't'));
    EXPECT_THAT(task_error_of(world), AllOf(HasSubstr("of rank 1"), HasSubstr(" number, made at"),
                                            HasSubstr("same order")));
  });
}

// With the same parameter types all the same: what arrives is different.
TEST_P(Held, LargeAndOrdinaryHandlersMixedUp_AreNamed) {
  for (const bool large_at_sender : {false, true}) {
    run([=](World& world) {
      std::vector<double> place(100);
      const std::vector<double> payload(100);
      std::optional<ActiveMessage<std::span<const double>, int>> ordinary;
      std::optional<LargeMessage<double, int>> large;
      if ((world.rank() == 1) == large_at_sender) {
        large.emplace(world.make_large_am<double>(
            [&](std::size_t, int) { return std::span(place); },
            [](std::span<double>, int) { ADD_FAILURE(); }, [](int) {}, {.name = "one"}));
      } else {
        ordinary.emplace(
            world.make_am([](std::span<const double>, int) { ADD_FAILURE(); }, {.name = "one"}));
      }
      if (world.rank() == 1 && large) large->send(Rank(0), std::span<const double>(payload), 1);
      if (world.rank() == 1 && ordinary) ordinary->send(Rank(0), payload, 1);
      EXPECT_THAT(task_error_of(world), AllOf(HasSubstr(" one, made at"), HasSubstr("same order")));
    });
  }
}

// --- destroyed too early

TEST_P(Held, MessageForADestroyedHandler_IsAnError) {
  const auto shared = make_immutable<int>(1);
  run([&](World& world) {
    std::optional<ActiveMessage<Immutable<int>>> message =
        world.make_am([](const Immutable<int>&) { ADD_FAILURE(); });
    if (world.rank() == 0) message.reset();
    const auto send = [&] { message->send(Rank(0), shared); };
    EXPECT_THAT(task_error_after_barrier(world, send),
                AllOf(HasSubstr("rank 0"), HasSubstr("from rank 1"), HasSubstr("destroyed"),
                      HasSubstr("wait()")));
  });
  EXPECT_EQ(shared.use_count(), 1U);
}

TEST_P(Held, LargeMessageForADestroyedHandler_IsAnError) {
  run([](World& world) {
    std::vector<int> payload(10);
    std::optional<LargeMessage<int>> message =
        world.make_large_am<int>([](std::size_t) -> std::span<int> { return {}; },
                                 [](std::span<int>) { ADD_FAILURE(); }, [] {});
    if (world.rank() == 0) message.reset();
    const auto send = [&] { message->send(Rank(0), std::span<const int>(payload)); };
    EXPECT_THAT(task_error_after_barrier(world, send), HasSubstr("destroyed"));
  });
}

TEST_P(Held, HandlersMadeAndDestroyedManyTimes_AreKeptApart) {
  run([](World& world) {
    for (int round = 0; round < 20; ++round) {
      int calls = 0;
      const auto captured = std::make_shared<int>(round);
      {
        auto message = world.make_am([&calls, captured, round](int sent) {
          EXPECT_EQ(sent, round);
          EXPECT_EQ(*captured, round);
          ++calls;
        });
        for (int to = 0; to < world.size(); ++to) message.send(Rank(to), round);
        world.wait();
        EXPECT_EQ(calls, world.size());
      }
      // Destroyed with its message, or once the packet that another worker handles has ended
      // (DeferredReclaim). If it never is, the test's time limit ends this.
      while (captured.use_count() > 1) std::this_thread::yield();
    }
  });
}

TEST_P(Held, MovedHandler_StaysTheSame) {
  run([](World& world) {
    int calls = 0;
    std::vector<ActiveMessage<int>> all;
    for (int i = 0; i < 10; ++i) {  // moved when the vector grows
      all.push_back(world.make_am([&calls, i](int sent) {
        EXPECT_EQ(sent, i);
        ++calls;
      }));
    }
    auto first = std::move(all.front());
    first.send(Rank(0), 0);
    for (int i = 1; i < 10; ++i) all[static_cast<std::size_t>(i)].send(Rank(0), i);
    world.wait();
    EXPECT_EQ(calls, world.rank() == 0 ? 10 * world.size() : 0);
  });
}

// --- any order of events

TEST(Turns, HandlersMadeAtAnyTime_GetTheirMessagesInOrder) {
  const auto first = std::random_device()();
  std::printf("seed %u\n", first);
  for (std::uint32_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto result = run_turns({seed, 3, 2, {512, 2048}}, [&](World& world) {
      std::minstd_rand random(seed + static_cast<std::uint32_t>(world.rank()));
      constexpr int kHandlers = 4;
      constexpr int kCount = 30;
      std::vector<int> next(static_cast<std::size_t>(world.size()), 0);
      std::vector<ActiveMessage<int, int, std::string>> all;
      all.reserve(kHandlers);
      int sent = 0;
      // Makes the next handler, or sends to everyone through one it has.
      while (sent < kCount || all.size() < kHandlers) {
        const bool make = all.size() < kHandlers && (all.empty() || random() % 8 == 0);
        if (make || sent == kCount) {
          all.push_back(world.make_am([&](int from, int number, const std::string& text) {
            EXPECT_EQ(number, next[static_cast<std::size_t>(from)]++);
            EXPECT_EQ(text.size(), static_cast<std::size_t>(number % 7) * 20);
          }));
          continue;
        }
        const auto& message = all[random() % all.size()];
        for (int to = 0; to < world.size(); ++to) {
          message.send(Rank(to), world.rank().value(), sent,
                       std::string(static_cast<std::size_t>(sent % 7) * 20, 'x'));
        }
        ++sent;
      }
      world.wait();
      EXPECT_THAT(next, Each(kCount));
      return 0;
    });
    EXPECT_THAT(result.exit_codes, Each(0));
    for (const auto& error : result.errors) EXPECT_EQ(error, nullptr);
  }
}

// The message that the main function yields for is behind more than a window of messages for a
// handler which it makes then, or has made: a yield does not open it.
TEST(FloodForALaterHandler, LeavesTheWindowOfARankThatIsNeverIdle) {
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    const bool is_made_before = seed % 4 < 2;
    const auto result =
        run_turns({seed, 2, 1 + static_cast<int>(seed % 2), {512, 2048}}, [&](World& world) {
          constexpr int kCount = 2'000;
          constexpr int kRoundsMax = 100'000;
          std::atomic<bool> told{false};
          const auto tell = world.make_am([&] { told = true; }, {.own_order = true});
          world.flush();
          int next = 0;
          std::optional<ActiveMessage<int>> message;
          const auto make = [&] {
            message.emplace(world.make_am([&](int number) { EXPECT_EQ(number, next++); }));
          };
          if (world.rank() == 1 || is_made_before) make();
          if (world.rank() == 1) {
            for (int i = 0; i < kCount; ++i) message->send(Rank(0), i);
            tell.send(Rank(0));
          } else {
            for (int i = 0; i < kRoundsMax && !told; ++i) shoal::yield();
            EXPECT_TRUE(told);
            if (!is_made_before) make();
          }
          world.wait();
          EXPECT_EQ(next, world.rank() == 0 ? kCount : 0);
          return 0;
        });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// Objects that a handler refers to are often made after it.
TEST(Opening, HandlerOfTheMainFunction_RunsOnlyOnceThatGoesOn) {
  std::atomic<bool> message_is_next{false};
  EXPECT_EQ(run_world(2, 2,
                      [&](World& world) {
                        const auto before = world.make_am([&] { message_is_next = true; });
                        world.barrier();
                        bool set_up = false;
                        int calls = 0;
                        auto message = world.make_am([&] {
                          EXPECT_TRUE(set_up);
                          ++calls;
                        });
                        if (world.rank() == 1) {
                          while (!message_is_next) std::this_thread::yield();
                          for (int i = 0; i < 1000; ++i) std::this_thread::yield();
                        }
                        set_up = true;
                        if (world.rank() == 0) {
                          before.send(Rank(1));
                          message.send(Rank(1));
                        }
                        world.wait();
                        EXPECT_EQ(calls, world.rank().value());
                      }),
            0);
}

TEST(Opening, Flush_LetsHandlersRunWhileTheMainFunctionDoesOtherThings) {
  EXPECT_EQ(run_world(2, 2,
                      [](World& world) {
                        std::atomic<bool> called{false};
                        auto message = world.make_am([&] { called = true; });
                        message.send(Rank(1 - world.rank()));
                        world.flush();
                        while (!called) std::this_thread::yield();
                        world.wait();
                      }),
            0);
}

TEST(Opening, HandlerOfATask_RunsWhileTheMainFunctionDoesOtherThings) {
  EXPECT_EQ(run_world(1, 2,
                      [](World& world) {
                        std::atomic<bool> called{false};
                        std::optional<ActiveMessage<>> message;
                        world.spawn([&] {
                          message.emplace(world.make_am([&] { called = true; }));
                          message->send(Rank(0));
                        });
                        while (!called) std::this_thread::yield();
                        world.wait();
                      }),
            0);
}

}  // namespace team_held_test
