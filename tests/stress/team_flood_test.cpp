// Senders that are faster than their receiver: what is under way stays within the window, the heap
// within a small multiple of it, and nothing is lost.

#include "support/flood.hpp"

#include <thread>

namespace team_flood_test {

using namespace shoal;
using namespace shoal::testing;

// A message of 8 bytes takes 32 in a packet. As a task it takes about 150 more, which the window
// does not count. Each thread keeps two magazines of free packets and two of one smaller size
// (sync/block_pool), of 32 KiB each: the workers, and four threads that the process has anyway.
std::size_t heap_limit(Delivery delivery, std::size_t links, std::size_t workers) {
  constexpr std::size_t kThreadKeeps = 4 * (33UL << 10U);
  return (workers + 4) * kThreadKeeps +
         links * kFloodWindow * (delivery == Delivery::task ? 16 : 4);
}

// Each sender looks at the window before its message is in it, and does not see the last ones.
void expect_within_window(const WindowWatch& watch, std::size_t senders,
                          std::size_t message_bytes = 128) {
  const std::size_t unseen_bytes =
      net::LinkOptions{.window_bytes = kFloodWindow}.uncounted_bytes_max();
  EXPECT_LE(watch.most_bytes(), kFloodWindow + unseen_bytes + senders * message_bytes);
}

class Flood : public ::testing::TestWithParam<Delivery> {
 protected:
  /// An active message whose handler is slow and counts in tally_.
  auto make(World& world, int from, int to) {
    return world.make_am(
        [this, &world, from, to](std::uint64_t number, std::span<const std::uint8_t> padding) {
          watch_.look(world, Rank(from), Rank(to));
          tally_.add(number, padding);
        },
        {.delivery = GetParam()});
  }
  [[nodiscard]] std::string name() const {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  FloodTally tally_;
  WindowWatch watch_;
};

INSTANTIATE_TEST_SUITE_P(Delivery, Flood, ::testing::Values(Delivery::inlined, Delivery::task),
                         [](const auto& info) {
                           return info.param == Delivery::task ? "task" : "inlined";
                         });

TEST_P(Flood, TenMillionFromOneMain_StayWithinTheWindow) {
  const auto count = static_cast<std::uint64_t>(sized(10'000'000, 200'000));
  run_flood(name(), 2, 1, heap_limit(GetParam(), 1, 2), tally_, [&](World& world) {
    auto message = make(world, 0, 1);
    if (world.rank() == 0) send_flood(message, Rank(1), count);
    world.wait();
  });
  tally_.expect(1, count);
  expect_within_window(watch_, 1);
}

TEST_P(Flood, FromFourTasksAtOnce_StaysWithinTheWindow) {
  const auto count = static_cast<std::uint64_t>(sized(300'000, 20'000));
  run_flood(name(), 2, 4, heap_limit(GetParam(), 1, 8), tally_, [&](World& world) {
    auto message = make(world, 0, 1);
    for (int t = 0; t < 4 && world.rank() == 0; ++t) {
      world.spawn([&] { send_flood(message, Rank(1), count); });
    }
    world.wait();
  });
  tally_.expect(4, count);
  expect_within_window(watch_, 4);
}

TEST_P(Flood, OfTwoRanksAtEachOther_StaysWithinTheWindow) {
  const auto count = static_cast<std::uint64_t>(sized(500'000, 40'000));
  for (const int workers : {1, 2}) {
    run_flood(name(), 2, workers, heap_limit(GetParam(), 2, 2 * static_cast<std::size_t>(workers)),
              tally_, [&](World& world) {
                auto message = make(world, 1 - world.rank(), world.rank());
                send_flood(message, Rank(1 - world.rank()), count);
                world.wait();
              });
  }
  tally_.expect(4, count);
  expect_within_window(watch_, 1);
}

// One worker runs all of them. It stops beginning new ones when many stand still.
TEST_P(Flood, OfHundredsOfTasksOfOneWorker_StaysWithinTheWindow) {
  constexpr int kTasks = 300;
  const auto count = static_cast<std::uint64_t>(sized(2'000, 200));
  run_flood(name(), 2, 1, heap_limit(GetParam(), 1, 2), tally_, [&](World& world) {
    auto message = make(world, 0, 1);
    for (int t = 0; t < kTasks && world.rank() == 0; ++t) {
      world.spawn([&] { send_flood(message, Rank(1), count); });
    }
    world.wait();
  });
  tally_.expect(kTasks, count);
  expect_within_window(watch_, 100);
}

TEST_P(Flood, AtOneself_StaysWithinTheWindow) {
  const auto count = static_cast<std::uint64_t>(sized(500'000, 40'000));
  run_flood(name(), 1, 1, heap_limit(GetParam(), 1, 1), tally_, [&](World& world) {
    auto message = make(world, 0, 0);
    world.spawn([&] { send_flood(message, Rank(0), count); });
    send_flood(message, Rank(0), count);
    world.wait();
  });
  tally_.expect(2, count);
  expect_within_window(watch_, 2);
}

TEST_P(Flood, FromThreadsOfTheProgram_StaysWithinTheWindow) {
  constexpr int kThreads = 3;
  const auto count = static_cast<std::uint64_t>(sized(200'000, 20'000));
  run_flood(name(), 2, 1, heap_limit(GetParam(), 1, 2), tally_, [&](World& world) {
    auto message = make(world, 0, 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads && world.rank() == 0; ++t) {
      threads.emplace_back([&, hold = world.hold()] { send_flood(message, Rank(1), count); });
    }
    world.wait();
    for (std::thread& thread : threads) thread.join();
  });
  tally_.expect(kThreads, count);
  expect_within_window(watch_, kThreads);
}

TEST_P(Flood, OfSeveralRanksAtOne_StaysWithinTheirWindows) {
  const auto count = static_cast<std::uint64_t>(sized(300'000, 20'000));
  run_flood(name(), 4, 1, heap_limit(GetParam(), 3, 4), tally_, [&](World& world) {
    auto message = make(world, 1, 0);
    if (world.rank() != 0) send_flood(message, Rank(0), count);
    world.wait();
  });
  tally_.expect(3, count);
  expect_within_window(watch_, 1);
}

// Within the process these travel as objects: their text counts as well.
TEST_P(Flood, OfObjects_StaysWithinTheWindow) {
  const auto count = static_cast<std::uint64_t>(sized(500'000, 40'000));
  run_flood(name(), 2, 1, heap_limit(GetParam(), 1, 2), tally_, [&](World& world) {
    auto message = world.make_am(
        [&](std::uint64_t number, const std::string& text) {
          watch_.look(world, Rank(0), Rank(1));
          EXPECT_EQ(text.size(), number % 200);
          tally_.add(number, {});
        },
        {.delivery = GetParam()});
    for (std::uint64_t i = 0; i < count && world.rank() == 0; ++i) {
      message.send(Rank(1), i, std::string(i % 200, 't'));
    }
    world.wait();
  });
  tally_.expect(1, count);
  expect_within_window(watch_, 1, 512);
}

}  // namespace team_flood_test
