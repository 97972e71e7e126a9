#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

namespace runtime_wait_test {

using shoal::Delivery;
using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::sized;

struct Shape {
  int ranks;
  int workers;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.ranks << " ranks, " << shape.workers << " workers";
}

/// Numbers that only handlers of one rank write, and all read after wait(): they are not
/// atomic on purpose, so that ThreadSanitizer checks what wait() promises about order.
struct alignas(64) Tally {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
};

std::uint64_t total_count(const std::vector<Tally>& tallies) {
  return std::accumulate(tallies.begin(), tallies.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Tally& tally) { return sum + tally.count; });
}

class Wait : public testing::TestWithParam<Shape> {
 protected:
  template <class F>
  void run(F function, const std::vector<std::string>& more = {}) {
    EXPECT_EQ(run_world(GetParam().ranks, GetParam().workers, std::move(function), more), 0);
  }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(GetParam().ranks); }

  std::vector<Tally> tallies_ = std::vector<Tally>(ranks());
};

TEST_P(Wait, WithNothingToDo_Returns) {
  run([](World& world) {
    for (int i = 0; i < 20; ++i) world.wait();
  });
}

TEST_P(Wait, ManyTimes_EachSeesAllMessagesBeforeIt) {
  run([this](World& world) {
    Tally& mine = tallies_[static_cast<std::size_t>(world.rank())];
    const auto am = world.make_am([&mine](int value) {
      ++mine.count;
      mine.sum += static_cast<std::uint64_t>(value);
    });
    constexpr int kRounds = 20;
    for (int round = 1; round <= kRounds; ++round) {
      // To another rank in each round, and to oneself.
      for (int i = 0; i < round; ++i) {
        am.send(Rank((world.rank() + round) % world.size()), i);
        am.send(world.rank(), i);
      }
      world.wait();
      const auto rounds = static_cast<std::uint64_t>(round * (round + 1) / 2);
      EXPECT_EQ(total_count(tallies_), 2 * ranks() * rounds);
      world.barrier();  // before the next round writes again
    }
  });
}

TEST_P(Wait, ChainsOfMessagesSentByHandlers_AreWaitedForToTheEnd) {
  run([this](World& world) {
    constexpr int kDepth = 9;
    Tally& mine = tallies_[static_cast<std::size_t>(world.rank())];
    using Hop = shoal::ActiveMessage<int, int>;
    const Hop* self = nullptr;
    const Hop hop(
        world.core(),
        [&](int depth, int salt) {
          ++mine.count;
          if (depth == 0) return;
          self->send(Rank((salt * 7 + depth) % world.size()), depth - 1, salt + 1);
          self->send(Rank((salt * 5 + 3) % world.size()), depth - 1, salt + 2);
        },
        {}, std::source_location::current());
    self = &hop;
    world.barrier();
    if (world.rank() == 0) hop.send(Rank(world.size() - 1), kDepth, 1);
    world.wait();
    EXPECT_EQ(total_count(tallies_), (std::uint64_t{2} << kDepth) - 1);
  });
}

TEST_P(Wait, TasksThatSpawnAndSend_AreWaitedForToTheEnd) {
  std::atomic<int> ran{0};
  run([&](World& world) {
    std::function<void(int)> grow;
    const auto am = world.make_am([&](int depth) { grow(depth); }, {.delivery = Delivery::task});
    grow = [&](int depth) {
      ran.fetch_add(1, std::memory_order_relaxed);
      if (depth == 0) return;
      world.spawn([&grow, depth] { grow(depth - 1); });
      am.send(Rank((world.rank() + 1) % world.size()), depth - 1);
    };
    world.barrier();
    world.spawn([&] { grow(6); });
    world.wait();
    EXPECT_EQ(ran.load(std::memory_order_relaxed), world.size() * 127);
  });
}

TEST_P(Wait, OneRankWorks_TheOthersNeverSend) {
  run([this](World& world) {
    if (world.rank() == world.size() - 1) {
      std::atomic<int> left{100};
      std::function<void()> next = [&] {
        if (left.fetch_sub(1) > 1) world.spawn(next);
      };
      world.spawn(next);
      world.wait();
      EXPECT_EQ(left.load(), 0);
      tallies_.back().count = 1;
      world.wait();
    } else {
      world.wait();
      world.wait();
    }
    EXPECT_EQ(tallies_.back().count, 1U);
  });
}

// A function, as the captures of an instance handler end with the main function.
std::atomic<int> g_received{0};
void count_one() { g_received.fetch_add(1, std::memory_order_relaxed); }

TEST_P(Wait, LessOftenOnSomeRanks_TheOthersAreNotHeldUp) {
  g_received = 0;
  run([](World& world) {
    for (int i = 0; i <= world.rank() % 3; ++i) {
      world.send(Rank((world.rank() + i) % world.size()), shoal::am<count_one>);
      world.wait();
    }
  });
  int sent = 0;
  for (int rank = 0; rank < GetParam().ranks; ++rank) sent += rank % 3 + 1;
  EXPECT_EQ(g_received.load(), sent);
}

TEST_P(Wait, MainFunctionsThatNeverCallIt_DoNotHoldUpTheOthers) {
  run([](World& world) {
    for (int i = 0; i < world.rank(); ++i) world.wait();
  });
}

TEST_P(Wait, TasksLeftByAMainFunctionThatReturned_RunBeforeTheEnd) {
  std::atomic<int> ran{0};
  run([&](World& world) {
    for (int i = 0; i < 10; ++i) {
      world.spawn([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    }
  });
  EXPECT_EQ(ran.load(), GetParam().ranks * 10);
}

TEST_P(Wait, MessagesOfManyPackets_AllArrive) {
  const int count = sized(3000, 500);
  run([&](World& world) {
    Tally& mine = tallies_[static_cast<std::size_t>(world.rank())];
    const auto am = world.make_am([&mine](std::span<const double> values) {
      ++mine.count;
      mine.sum += values.size();
    });
    const std::vector<double> values(40, 1.0);
    for (int i = 0; i < count; ++i) am.send(Rank(i % world.size()), values);
    world.wait();
    EXPECT_EQ(total_count(tallies_), ranks() * static_cast<std::uint64_t>(count));
  });
}

// The window holds a few messages only: the main function is suspended in send() again and again.
TEST_P(Wait, FloodBeyondTheWindow_AllArrive) {
  const int count = sized(2000, 300);
  run(
      [&](World& world) {
        Tally& mine = tallies_[static_cast<std::size_t>(world.rank())];
        const auto am =
            world.make_am([&mine](const std::vector<int>& v) { mine.count += v.size(); });
        const std::vector<int> values(32);
        for (int i = 0; i < count; ++i) am.send(Rank((world.rank() + 1) % world.size()), values);
        world.wait();
        EXPECT_EQ(total_count(tallies_), 32 * ranks() * static_cast<std::uint64_t>(count));
      },
      {"--window-bytes", "2K", "--packet-bytes", "512"});
}

TEST_P(Wait, LargeMessagesInFlight_ArriveAndAreReleasedBeforeItReturns) {
  constexpr int kCount = 10;
  constexpr std::size_t kElements = 5000;
  std::atomic<int> arrived{0};
  std::atomic<int> released{0};
  run([&](World& world) {
    const auto size = static_cast<std::size_t>(world.size());
    std::vector<std::vector<double>> places(size * kCount);
    const auto large = world.make_large_am<double>(
        [&](std::size_t count, int slot) {
          auto& place = places[static_cast<std::size_t>(slot)];
          place.resize(count);
          return std::span<double>(place);
        },
        [&](std::span<double> data, int slot) {
          EXPECT_EQ(data.front(), slot);
          EXPECT_EQ(data.back(), slot);
          arrived.fetch_add(1, std::memory_order_relaxed);
        },
        [&](int) { released.fetch_add(1, std::memory_order_relaxed); },
        {.delivery = world.rank() % 2 == 0 ? Delivery::inlined : Delivery::task});
    std::vector<std::vector<double>> payloads;
    for (int i = 0; i < kCount; ++i) {
      const int slot = world.rank() * kCount + i;
      payloads.emplace_back(kElements, slot);
      large.send(Rank((world.rank() + i) % world.size()), payloads.back(), slot);
    }
    world.wait();
    EXPECT_EQ(arrived.load(std::memory_order_relaxed), world.size() * kCount);
    EXPECT_EQ(released.load(std::memory_order_relaxed), world.size() * kCount);
  });
}

TEST_P(Wait, AfterCollectivesAndTasksMixed_StillCountsRight) {
  run([](World& world) {
    std::atomic<int> ran{0};
    for (int round = 1; round <= 10; ++round) {
      world.spawn([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
      const int sum = world.allreduce(round, std::plus<>());
      EXPECT_EQ(sum, round * world.size());
      world.wait();
      EXPECT_EQ(ran.load(std::memory_order_relaxed), round);
      world.barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Wait,
                         testing::Values(Shape{1, 1}, Shape{1, 4}, Shape{2, 1}, Shape{3, 2},
                                         Shape{6, 4}, Shape{16, 1}));

// --- called where it must not be

/// Text of the error of `call` when run on a rank by each of a handler, a task and a delivered
/// task.
void expect_refused(const std::string& what, const std::function<void(World&)>& call) {
  const auto refusal = [&call](World& world) -> std::string {
    try {
      call(world);
    } catch (const shoal::CheckError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  std::string in_handler;
  std::string in_task;
  std::string in_delivered_task;
  std::string in_thread;
  const int code = run_world(2, 2, [&](World& world) {
    const auto handler = world.make_am([&] { in_handler = refusal(world); });
    const auto task =
        world.make_am([&] { in_delivered_task = refusal(world); }, {.delivery = Delivery::task});
    if (world.rank() == 0) {
      handler.send(Rank(1));
      task.send(Rank(1));
      world.spawn([&] { in_task = refusal(world); });
      std::thread([&] { in_thread = refusal(world); }).join();
    }
    world.wait();
  });
  EXPECT_EQ(code, 0);
  const std::string elsewhere =
      what + " was called in a task or a thread of its own; call it in the main function";
  EXPECT_THAT(in_handler, testing::HasSubstr(what + " was called in handler"));
  EXPECT_THAT(in_task, testing::HasSubstr(elsewhere));
  EXPECT_THAT(in_delivered_task, testing::HasSubstr(elsewhere));
  EXPECT_THAT(in_thread, testing::HasSubstr(elsewhere));
}

// A main function that hardly ever parks, since what it waits for is at hand.
void wait_on(World& world, const shoal::ActiveMessage<>& answer, shoal::Promise<void>*& promise) {
  shoal::Promise<void> mine(world);
  promise = &mine;
  answer.send(world.rank());
  mine.future().get();
}

TEST(WaitWithoutParking, HoldsUpNeitherEarlyMessagesNorTimers) {
  static constexpr int kRoundsMax = 5'000'000;
  const auto main_function = [](World& world) {
    shoal::Promise<void>* promise = nullptr;
    const auto answer = world.make_am([&promise] { promise->set_value(); });
    wait_on(world, answer, promise);
    // The other rank's message is here before this handler.
    if (world.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    bool told = false;
    std::atomic<bool> slept = false;
    const auto am = world.make_am([&told](bool value) { told = value; });
    am.send(Rank(1 - world.rank()), true);
    world.spawn([&slept] {
      shoal::sleep_for(std::chrono::milliseconds(5));
      slept = true;
    });
    int rounds = 0;
    for (; (!told || !slept) && rounds < kRoundsMax; ++rounds) wait_on(world, answer, promise);
    EXPECT_LT(rounds, kRoundsMax) << told << slept;
    world.wait();
  };
  EXPECT_EQ(run_world(2, 1, main_function), 0);
}

TEST(WaitOutsideMain, IsRefusedByName) {
  expect_refused("wait()", [](World& world) { world.wait(); });
}

TEST(BarrierOutsideMain, IsRefusedByName) {
  expect_refused("barrier()", [](World& world) { world.barrier(); });
}

TEST(CollectivesOutsideMain, AreRefusedByName) {
  expect_refused("broadcast()", [](World& world) { (void)world.broadcast(1, Rank(0)); });
  expect_refused("allreduce()", [](World& world) { (void)world.allreduce(1, std::plus<>()); });
  expect_refused("gather()", [](World& world) { (void)world.gather(1, Rank(0)); });
  expect_refused("allgather()", [](World& world) { (void)world.allgather(1); });
}

// The handler does not catch it: then it is an error like any other.
TEST(WaitOutsideMain, UncaughtInAHandler_FailsTheWorldWithItsText) {
  std::vector<std::string> texts(3);
  testing::internal::CaptureStderr();
  const int code = run_world(3, 1, [&](World& world) {
    const auto am = world.make_am([&] { world.wait(); }, {.name = "blocker"});
    am.send(Rank((world.rank() + 1) % world.size()));
    try {
      world.wait();
    } catch (const shoal::TaskError& error) {
      texts[static_cast<std::size_t>(world.rank())] = error.what();
      throw;
    }
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(texts, testing::Each(testing::HasSubstr("blocker failed:")));
  EXPECT_THAT(texts, testing::Each(testing::HasSubstr("wait() was called in handler")));
  EXPECT_THAT(said, testing::HasSubstr("wait() was called in handler"));
}

}  // namespace runtime_wait_test
