// Large messages to recipients that only read: the arrival function runs while the payload is still
// passed on, and another one says when the buffer may be written or freed.

#include <shoal/shoal.hpp>

#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace team_read_only_test {

using namespace shoal;
using shoal::testing::run_turns;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A tree in which rank 1 passes on to `child`, and a size.
struct Way {
  const char* name;
  MulticastTree tree;
  int child;
  std::size_t size;
};
constexpr Way kWays[] = {
    {"in segments", {TreeShape::chain}, 2, 200'000},
    {"with its message", {TreeShape::k_ary, 4}, 5, 100'000},
};
constexpr int kRanks = 9;
constexpr int kSeeds = shoal::testing::sized_on_one_thread(24, 3);

bool all_are(std::span<const int> values, int number) {
  return std::ranges::all_of(values, [number](int value) { return value == number; });
}

std::vector<Rank> others() {
  std::vector<Rank> ranks;
  for (int rank = 1; rank < kRanks; ++rank) ranks.emplace_back(rank);
  return ranks;
}

template <class F>
void run_seeds(F program) {
  for (const Way& way : kWays) {
    for (std::uint64_t seed = 0; seed < std::uint64_t{kSeeds}; ++seed) {
      SCOPED_TRACE(::testing::Message() << way.name << ", seed " << seed);
      const auto result = run_turns({.seed = seed, .ranks = kRanks}, [&](World& world) {
        program(world, way);
        return 0;
      });
      for (const auto& error : result.errors) ASSERT_EQ(error, nullptr) << describe(error);
    }
  }
}

// Rank 1 cannot have passed its payload on: its child has no handler before rank 1 has read.
TEST(ReadOnlyPayload, IsReadBeforeItIsPassedOn) {
  run_seeds([](World& world, const Way& way) {
    Promise<void> has_read;
    auto future = has_read.future();
    const auto tell = world.make_am([&] { has_read.set_value(); });
    if (world.rank() == way.child) future.get();
    std::vector<std::string> steps;
    std::vector<int> buffer(way.size);
    const std::vector<int> payload(way.size, 1);
    const auto message = world.make_large_am<int>([&](std::size_t) { return std::span(buffer); },
                                                  read_only(
                                                      [&](std::span<const int> values, int number) {
                                                        EXPECT_EQ(number, 7);
                                                        EXPECT_TRUE(all_are(values, 1));
                                                        steps.emplace_back("read");
                                                        // Urgent: others of rank 1 wait behind the
                                                        // payload that has no handler.
                                                        if (world.rank() == 1)
                                                          tell.send_urgent(Rank(way.child));
                                                      },
                                                      [&] { steps.emplace_back("passed on"); }));
    if (world.rank() == 0) message.multicast({others(), way.tree}, payload, 7);
    world.wait();
    if (world.rank() == 0) return;
    EXPECT_THAT(steps, ElementsAre("read", "passed on"));
  });
}

// Recipients below read the buffers of those above, in one process or through the transport.
TEST(ReadOnlyPayload, IsFreedOnlyAfterItWasPassedOn) {
  run_seeds([](World& world, const Way& way) {
    constexpr int kMessages = 5;
    std::vector<std::vector<int>> buffers(kMessages);
    int arrived = 0;
    int freed = 0;
    const auto message = world.make_large_am<int>(
        [&](std::size_t count, int number) {
          std::vector<int>& buffer = buffers[static_cast<std::size_t>(number)];
          buffer.resize(count);
          return std::span(buffer);
        },
        read_only(
            [&](std::span<const int> values, int number) {
              EXPECT_TRUE(all_are(values, number));
              ++arrived;
            },
            [&](std::span<int> values, int number) {
              std::vector<int>& buffer = buffers[static_cast<std::size_t>(number)];
              EXPECT_EQ(values.data(), buffer.data());
              std::ranges::fill(values, -1);
              buffer = {};
              ++freed;
            }));
    std::vector<std::vector<int>> payloads;
    for (int i = 0; i < kMessages; ++i) payloads.emplace_back(way.size, i);
    if (world.rank() == 0) {
      for (int i = 0; i < kMessages; ++i) {
        message.multicast({others(), way.tree}, payloads[static_cast<std::size_t>(i)], i);
      }
    }
    world.wait();
    EXPECT_EQ(arrived, world.rank() == 0 ? 0 : kMessages);
    EXPECT_EQ(freed, arrived);
  });
}

TEST(ReadOnlyPayload, OfASingleSend_IsFreedAfterItWasRead) {
  run_seeds([](World& world, const Way& way) {
    for (const Delivery delivery : {Delivery::inlined, Delivery::task}) {
      std::vector<int> buffer;
      std::vector<int> steps;
      const auto message = world.make_large_am<int>(
          [&](std::size_t count) {
            buffer.resize(count);
            return std::span(buffer);
          },
          read_only(
              [&](std::span<const int> values) {
                if (delivery == Delivery::task) yield();
                EXPECT_TRUE(all_are(values, 3));
                steps.push_back(1);
              },
              [&] {
                std::ranges::fill(buffer, -1);
                steps.push_back(2);
              }),
          [] {}, {.delivery = delivery});
      const std::vector<int> payload(way.size, 3);
      if (world.rank() == 2) message.send(Rank(3), payload);
      world.wait();
      const std::vector<int> expected = world.rank() == 3 ? std::vector{1, 2} : std::vector<int>{};
      EXPECT_EQ(steps, expected);
    }
  });
}

// A rank fails when it has read, while it and others pass on.
TEST(ReadOnlyPayload, WhileTheWorldFails_LeavesNothingBehind) {
  for (const Way& way : kWays) {
    for (std::uint64_t seed = 0; seed < std::uint64_t{kSeeds}; ++seed) {
      const int failing = 1 + static_cast<int>(seed % (kRanks - 1));
      std::atomic<int> alive{0};
      const auto result = run_turns({.seed = seed, .ranks = kRanks}, [&](World& world) {
        ++alive;
        const std::shared_ptr<void> captured(nullptr, [&alive](void*) { --alive; });
        std::vector<int> buffer(way.size);
        const std::vector<int> payload(way.size, 1);
        const auto message =
            world.make_large_am<int>([&](std::size_t) { return std::span(buffer); },
                                     read_only(
                                         [&, captured](std::span<const int>) {
                                           if (world.rank() == failing)
                                             throw std::runtime_error("cannot read");
                                         },
                                         [captured] {}));
        if (world.rank() == 0) message.multicast({others(), way.tree}, payload);
        world.wait();
        return 0;
      });
      for (const auto& error : result.errors) {
        ASSERT_NE(error, nullptr) << way.name << ", seed " << seed;
        EXPECT_THAT(describe(error), HasSubstr("cannot read"));
      }
      EXPECT_EQ(alive.load(), 0) << way.name << ", seed " << seed;
    }
  }
}

}  // namespace team_read_only_test
