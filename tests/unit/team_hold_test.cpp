// Holds: threads of the program that take part in a world.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace team_hold_test {

using shoal::Delivery;
using shoal::Hold;
using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::sized;

TEST(Hold, OfAThreadThatSendsAndSpawns_KeepsWaitFromCompleting) {
  constexpr int kRounds = 50;
  std::atomic<int> received{0};
  std::atomic<int> ran{0};
  const int code = run_world(3, 2, [&](World& world) {
    std::atomic<int> acknowledged{0};
    const auto reply = world.make_am([&] {
      acknowledged.fetch_add(1);
      acknowledged.notify_one();
    });
    const auto call = world.make_am([&](int source) {
      received.fetch_add(1);
      reply.send(Rank(source));
    });
    world.barrier();
    std::thread thread([&, hold = world.hold()] {
      for (int i = 0; i < kRounds; ++i) {
        call.send(Rank((world.rank() + i) % world.size()), world.rank().value());
        acknowledged.wait(i);  // quiet in between: only the hold keeps the world going
        world.spawn([&ran] { ran.fetch_add(1); });
      }
    });
    world.wait();
    EXPECT_EQ(received.load(), 3 * kRounds);
    EXPECT_EQ(ran.load(), 3 * kRounds);
    thread.join();
  });
  EXPECT_EQ(code, 0);
}

TEST(Hold, MovedFromOwner_CountsOnce) {
  const int code = run_world(2, 1, [](World& world) {
    Hold first = world.hold();
    { const Hold second = std::move(first); }
    world.wait();  // would not return if the hold were still there
  });
  EXPECT_EQ(code, 0);
}

TEST(Hold, InATaskOfAnotherRank_KeepsAllRanksWaiting) {
  std::atomic<bool> released{false};
  const int code = run_world(4, 1, [&](World& world) {
    std::thread thread;
    if (world.rank() == 2) {
      world.spawn([&] {
        thread = std::thread([&, hold = std::optional(world.hold())]() mutable {
          std::this_thread::yield();
          released.store(true);
          hold.reset();
        });
      });
    }
    world.wait();
    EXPECT_TRUE(released.load());
    if (thread.joinable()) thread.join();
  });
  EXPECT_EQ(code, 0);
}

TEST(Hold, FloodFromThreads_SleepInSendAndLoseNothing) {
  const int count = sized(3000, 400);
  std::atomic<int> received{0};
  const int code = run_world(
      2, 2,
      [&](World& world) {
        const auto am = world.make_am(
            [&](const std::vector<int>& values) {
              received.fetch_add(static_cast<int>(values.size()), std::memory_order_relaxed);
            },
            {.delivery = world.rank() == 0 ? Delivery::inlined : Delivery::task});
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
          threads.emplace_back([&, hold = world.hold()] {
            const std::vector<int> values(16);
            for (int i = 0; i < count; ++i) am.send(Rank(1 - world.rank()), values);
          });
        }
        world.wait();
        EXPECT_EQ(received.load(), 2 * 3 * count * 16);
        for (std::thread& thread : threads) thread.join();
      },
      {"--window-bytes", "4K", "--packet-bytes", "512"});
  EXPECT_EQ(code, 0);
}

// The last hold goes while the workers fall asleep: no worker may miss it.
TEST(Hold, EndingWhileWorkersFallAsleep_WakesTheWait) {
  const int rounds = sized(3000, 500);
  const int code = run_world(2, 2, [&](World& world) {
    std::atomic<Hold*> handed{nullptr};
    std::thread thread([&] {
      for (int i = 0; i < rounds; ++i) {
        Hold* hold = nullptr;
        while ((hold = handed.exchange(nullptr)) == nullptr) std::this_thread::yield();
        for (volatile int spin = 0; spin < (i * 37) % 4000;) spin = spin + 1;
        delete hold;
      }
    });
    for (int i = 0; i < rounds; ++i) {
      handed.store(new Hold(world.hold()));
      world.wait();
      EXPECT_EQ(handed.load(), nullptr);
    }
    thread.join();
  });
  EXPECT_EQ(code, 0);
}

}  // namespace team_hold_test
