// Properties of a World, and spawn().

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace runtime_world_test {

using shoal::CheckError;
using shoal::Delivery;
using shoal::Rank;
using shoal::WorkerId;
using shoal::World;
using shoal::testing::run_world;
using testing::HasSubstr;

/// Text of the error that `call` throws, "" without one.
template <class F>
std::string refusal(F call) {
  try {
    call();
  } catch (const CheckError& error) {
    return error.what();
  }
  return "";
}

// fmt 9 converts them, and later versions ask for format_as().
TEST(Rank, IsWrittenByFmtAsItsNumber) {
  EXPECT_EQ(format_as(Rank(3)), 3);
  EXPECT_EQ(fmt::format("{} {:>2}", Rank(3), WorkerId(7)), "3  7");
}

TEST(World, OfEachRank_KnowsItsPlace) {
  std::atomic<unsigned> seen{0};
  run_world(5, 2, [&](World& world) {
    seen |= 1U << world.rank();
    EXPECT_EQ(world.size(), 5);
    EXPECT_EQ(world.worker_count(), 2);
    EXPECT_EQ(world.launch(), shoal::Launch::embedded);
    EXPECT_EQ(world.args().size(), 1U);
    const std::uint64_t before = world.now_ns();
    EXPECT_GE(world.now_ns(), before);
  });
  EXPECT_EQ(seen.load(), 0b11111U);
}

TEST(World, Stats_CountTasksMessagesAndBytes) {
  run_world(2, 1, [](World& world) {
    const auto am = world.make_am([](const std::vector<double>&) {});
    world.barrier();
    const shoal::Statistics before = world.statistics();
    for (int i = 0; i < 10; ++i) world.spawn([] {});
    for (int i = 0; i < 5; ++i) am.send(Rank(1 - world.rank()), std::vector<double>(100));
    world.wait();
    const shoal::Statistics after = world.statistics();
    EXPECT_EQ(after.tasks_run - before.tasks_run, 10U);
    EXPECT_EQ(after.messages_sent - before.messages_sent, 5U);
    EXPECT_GE(after.bytes_sent - before.bytes_sent, 5 * 100 * sizeof(double));
    EXPECT_LT(after.bytes_sent - before.bytes_sent, 5 * 200 * sizeof(double));
    EXPECT_GE(after.messages_received, 5U);
  });
}

TEST(Spawn, FromMainTasksHandlersAndThreads_RunsOnce) {
  std::atomic<int> ran{0};
  const int code = run_world(3, 2, [&](World& world) {
    const auto count = [&ran] { ++ran; };
    const auto am = world.make_am([&world, count] { world.spawn(count); });
    const auto task =
        world.make_am([&world, count] { world.spawn(count); }, {.delivery = Delivery::task});
    am.send(Rank((world.rank() + 1) % 3));
    task.send(Rank((world.rank() + 1) % 3));
    world.spawn(count);
    world.spawn([&] { world.spawn(count); });
    std::thread([&] { world.spawn(count); }).join();
    world.wait();
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(ran.load(), 3 * 5);
}

TEST(Spawn, WithMoveOnlyCaptures_MovesThem) {
  std::atomic<int> sum{0};
  run_world(1, 2, [&](World& world) {
    for (int i = 1; i <= 10; ++i) {
      world.spawn([value = std::make_unique<int>(i), &sum] { sum += *value; });
    }
    world.wait();
  });
  EXPECT_EQ(sum.load(), 55);
}

TEST(Spawn, BoundToAWorker_RunsOnItsThreadOnly) {
  std::vector<std::set<std::thread::id>> threads(3);
  run_world(1, 3, [&](World& world) {
    for (int i = 0; i < 300; ++i) {
      auto& mine = threads[static_cast<std::size_t>(i % 3)];
      world.spawn([&mine] { mine.insert(std::this_thread::get_id()); },
                  {.worker = WorkerId(i % 3), .bound = true});
    }
    world.wait();
  });
  std::set<std::thread::id> all;
  for (const auto& set : threads) {
    EXPECT_EQ(set.size(), 1U);
    all.insert(set.begin(), set.end());
  }
  EXPECT_EQ(all.size(), 3U);
}

TEST(Spawn, WithPriorities_LargerRunsFirst) {
  std::vector<int> order;
  run_world(1, 1, [&](World& world) {
    for (const int priority : {-5, 7, 0, 3, 7}) {
      world.spawn([&order, priority] { order.push_back(priority); }, {.priority = priority});
    }
    world.wait();
  });
  EXPECT_THAT(order, testing::ElementsAre(7, 7, 3, 0, -5));
}

TEST(Spawn, ForAWorkerOutOfRange_IsRefusedWithItsName) {
  run_world(1, 2, [](World& world) {
    for (const int worker : {-1, 2, 70'000}) {
      EXPECT_THAT(
          refusal([&] { world.spawn([] {}, {.worker = WorkerId(worker), .name = "lost"}); }),
          HasSubstr("task 'lost' is for worker " + std::to_string(worker)));
    }
    EXPECT_THAT(refusal([&] { world.spawn([] {}, {.bound = true, .name = "free"}); }),
                HasSubstr("task 'free' is bound to no worker"));
    world.wait();  // the refused ones were not counted
  });
}

TEST(Send, ToARankOutOfRange_IsRefusedAtTheCall) {
  const int code = run_world(2, 1, [](World& world) {
    const auto am = world.make_am([](int) {});
    for (const int rank : {-1, 2, 1000}) {
      EXPECT_THAT(refusal([&] { am.send(Rank(rank), 1); }),
                  HasSubstr("rank " + std::to_string(rank) + " is out of range"));
    }
    world.wait();
  });
  EXPECT_EQ(code, 0);
}

TEST(LargeSend, ToARankOutOfRange_IsRefusedAtTheCall) {
  const int code = run_world(2, 1, [](World& world) {
    const auto large = world.make_large_am<char>([](std::size_t) { return std::span<char>(); },
                                                 [](std::span<char>) {}, [] {});
    EXPECT_THAT(refusal([&] { large.send(Rank(2), std::span<const char>()); }),
                HasSubstr("rank 2 is out of range"));
    world.wait();  // would not return if the refused message were counted
  });
  EXPECT_EQ(code, 0);
}

}  // namespace runtime_world_test
