// Receivers that end: their handlers are closed, and none of them runs on return.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "team/messenger.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace team_close_test {

using shoal::Rank;
using shoal::World;
using shoal::testing::run_with;
using shoal::testing::run_world;
using shoal::testing::sized;

void close(World& world, std::uint32_t number) { world.core().close_handlers(std::array{number}); }

// The handler goes on for a while after the call that closes it has begun.
TEST(CloseHandlers, WhileOneRuns_ReturnsAfterIt) {
  const auto program = [](World& world) {
    for (int round = 0; round < sized(200, 20); ++round) {
      std::atomic<bool> runs{false};
      std::atomic<bool> closes{false};
      std::atomic<bool> ended{false};
      const auto message = world.make_am([&](int) {
        runs = true;
        while (!closes) std::this_thread::yield();
        for (int i = 0; i < 20'000; ++i) runs.store(true);
        ended = true;
      });
      if (world.rank() == 1) message.send(Rank(0), 1);
      world.flush();
      if (world.rank() == 0) {
        while (!runs) std::this_thread::yield();  // another worker has to run the handler
        closes = true;
        close(world, message.number());
        EXPECT_TRUE(ended);
      }
      closes = true;
      world.wait();
    }
  };
  EXPECT_EQ(run_world(2, 2, program), 0);
}

// Messages of others come all the time: the rank's progress never rests.
TEST(CloseHandlers, WhileOthersRun_Returns) {
  const auto program = [](World& world) {
    std::atomic<long> others{0};
    const auto other = world.make_am([&](int) { ++others; });
    for (int round = 0; round < sized(100, 10); ++round) {
      const auto message = world.make_am([](int) {});
      world.barrier();
      if (world.rank() == 1) {
        for (int i = 0; i < 2000; ++i) other.send(Rank(0), i);
      } else {
        close(world, message.number());
      }
      world.wait();
    }
    if (world.rank() == 0) {
      EXPECT_EQ(others, 2000L * sized(100, 10));
    }
  };
  EXPECT_EQ(run_world(2, 2, program), 0);
  EXPECT_EQ(run_with({"--sim", "--ranks", "2"}, program), 0);
}

TEST(CloseHandlers, InTheHandlerItself_DoesNotWait) {
  const auto program = [](World& world) {
    std::uint32_t number = 0;
    int calls = 0;
    const auto message = world.make_am([&](int) {
      ++calls;
      close(world, number);
      close(world, number);
    });
    number = message.number();
    if (world.rank() == 1) message.send(Rank(0), 1);
    world.wait();
    EXPECT_EQ(calls, world.rank() == 0 ? 1 : 0);
  };
  EXPECT_EQ(run_world(2, 2, program), 0);
  EXPECT_EQ(run_with({"--sim", "--ranks", "2"}, program), 0);
}

// A receiver that ends goes on sending: tasks that use it may run to their end.
TEST(CloseHandlers, OfOneRank_AreStillSentToOnOthers) {
  const auto program = [](World& world) {
    int sum = 0;
    const auto message = world.make_am([&](int value) { sum += value; });
    world.barrier();
    if (world.rank() == 0) {
      close(world, message.number());
      message.send(Rank(1), 5);
    }
    world.wait();
    EXPECT_EQ(sum, world.rank() == 1 ? 5 : 0);
  };
  EXPECT_EQ(run_world(2, 2, program), 0);
  EXPECT_EQ(run_with({"--sim", "--ranks", "2"}, program), 0);
}

}  // namespace team_close_test
