// A main function that throws while the world still uses what stands on its stack.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace runtime_main_throws_test {

using shoal::Delivery;
using shoal::Rank;
using shoal::World;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using testing::HasSubstr;
using testing::StartsWith;

/// Whether an object on a main function's stack is still there; outlives it.
class Presence {
 public:
  /// The object.
  class OnStack {
   public:
    explicit OnStack(Presence& presence) : presence_(presence) { presence_.there_ = true; }
    ~OnStack() { presence_.there_ = false; }
    OnStack(const OnStack&) = delete;
    OnStack& operator=(const OnStack&) = delete;

   private:
    Presence& presence_;
  };
  /// A user of the object.
  void use() {
    ++uses_;
    if (!there_) ++late_uses_;
  }
  [[nodiscard]] int uses() const { return uses_; }
  [[nodiscard]] int late_uses() const { return late_uses_; }

 private:
  std::atomic<bool> there_{false};
  std::atomic<int> uses_{0};
  std::atomic<int> late_uses_{0};
};

/// Says when it is asked for its text: a main function has thrown it.
class ObservedError final : public std::exception {
 public:
  explicit ObservedError(std::atomic<bool>& told) : told_(&told) {}
  [[nodiscard]] const char* what() const noexcept override {
    told_->store(true);
    return "told";
  }

 private:
  std::atomic<bool>* told_;
};

void await(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

/// Output of a run to standard error, and its exit code.
struct Said {
  int code = 0;
  std::string text;
};

template <class F>
Said said_by(int ranks, int workers, F function) {
  testing::internal::CaptureStderr();
  Said said;
  said.code = run_world(ranks, workers, std::move(function));
  said.text = testing::internal::GetCapturedStderr();
  return said;
}

constexpr const char* kTold = "shoal: error: rank 0: the main function failed: told\n";

TEST(MainThrows, WhileAHandlerOfItsRankRuns_UnwindsAfterIt) {
  for (const Delivery delivery : {Delivery::inlined, Delivery::task}) {
    Presence presence;
    std::atomic<bool> runs{false};
    std::atomic<bool> told{false};
    const Said said = said_by(1, 2, [&](World& world) {
      const Presence::OnStack object(presence);
      const auto am = world.make_am(
          [&] {
            runs = true;
            await(told);
            presence.use();
          },
          {.delivery = delivery});
      am.send(world.rank());
      world.flush();
      await(runs);  // on worker 1: this function does not leave worker 0
      throw ObservedError(told);
    });
    EXPECT_EQ(said.code, 1);
    EXPECT_EQ(said.text, kTold);
    EXPECT_EQ(presence.uses(), 1);
    EXPECT_EQ(presence.late_uses(), 0);
  }
}

TEST(MainThrows, WhileALargeMessageIsCopiedElsewhere_UnwindsAfterIt) {
  Presence presence;
  std::atomic<bool> runs{false};
  std::atomic<bool> told{false};
  const Said said = said_by(2, 1, [&](World& world) {
    std::vector<double> place(100'000);
    const auto large = world.make_large_am<double>(
        [&](std::size_t count) {
          runs = true;
          await(told);
          presence.use();
          return std::span(place).first(count);
        },
        [](std::span<double>) {}, [] {});
    if (world.rank() != 0) return world.wait();
    const Presence::OnStack object(presence);
    const std::vector<double> payload(100'000, 1.0);
    large.send(Rank(1), payload);
    world.flush();
    await(runs);
    throw ObservedError(told);
  });
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.text, kTold);
  EXPECT_EQ(presence.uses(), 1);
  EXPECT_EQ(presence.late_uses(), 0);
}

TEST(MainThrows, WhileTasksRunAndWait_UnwindsAfterThem) {
  Presence presence;
  std::atomic<bool> runs{false};
  std::atomic<bool> told{false};
  const Said said = said_by(1, 3, [&](World& world) {
    const Presence::OnStack object(presence);
    shoal::Promise<int> promise;
    shoal::Future<int> future = promise.future();
    for (int i = 0; i < 20; ++i) {
      world.spawn([&] {
        try {
          static_cast<void>(future.get());
        } catch (const shoal::CancelledError&) {
          presence.use();
          throw;
        }
      });
    }
    world.spawn([&] {
      runs = true;
      await(told);
      presence.use();
    });
    await(runs);
    throw ObservedError(told);
  });
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.text, kTold);
  EXPECT_GE(presence.uses(), 1);
  EXPECT_EQ(presence.late_uses(), 0);
}

// Wrong use makes the program fail, and nothing else.
TEST(MainThrows, AfterSendsOfLargeMessages_TheTextIsNotLost) {
  for (int i = 0; i < sized(100, 20); ++i) {
    const Said said = said_by(2, 1, [&](World& world) {
      std::vector<double> place(300'000);
      const auto large = world.make_large_am<double>(
          [&](std::size_t count) { return std::span(place).first(count); },
          [](std::span<double>) {}, [] {});
      const std::vector<double> payload(300'000, 1.0);
      large.send(Rank(1 - world.rank()), payload);
      if (world.rank() == 0) large.send(Rank(99), payload);
      world.wait();
    });
    ASSERT_EQ(said.code, 1);
    ASSERT_THAT(said.text, HasSubstr("rank 99"));
    ASSERT_THAT(said.text, StartsWith("shoal: error: rank 0: the main function failed: "));
  }
}

TEST(MainThrows, WithHoldsOnItsStack_UnwindsAllTheSame) {
  Presence presence;
  const Said said = said_by(2, 2, [&](World& world) {
    const Presence::OnStack object(presence);
    const shoal::Hold mine = world.hold();
    std::atomic<bool> stop{false};
    struct Joined {
      std::atomic<bool>& stop;
      std::thread thread;
      ~Joined() {
        stop = true;
        thread.join();
      }
    };
    const Joined joined{stop, std::thread([&stop, hold = world.hold()] { await(stop); })};
    world.spawn([&] { presence.use(); });
    if (world.rank() == 0) throw std::runtime_error("held");
    throw std::runtime_error("held as well");
  });
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.text, HasSubstr("the main function failed: held"));
  EXPECT_EQ(presence.late_uses(), 0);
}

TEST(MainThrows, Anything_IsNamedByItsType) {
  const auto text_of = [](const std::function<void(World&)>& function) {
    return said_by(2, 1,
                   [&](World& world) {
                     if (world.rank() == 1) function(world);
                     world.wait();
                   })
        .text;
  };
  const std::string begin = "shoal: error: rank 1: the main function failed: ";
  EXPECT_EQ(text_of([](World&) { throw 42; }), begin + "an exception of type int\n");
  EXPECT_EQ(text_of([](World&) { throw "text"; }), begin + "an exception of type char const*\n");
  EXPECT_EQ(text_of([](World&) { throw std::string("x").size(); }),
            begin + "an exception of type unsigned long\n");
  struct Base {
    virtual ~Base() = default;
  };
  struct Derived : Base, std::runtime_error {
    Derived() : std::runtime_error("of two bases") {}
  };
  EXPECT_EQ(text_of([](World&) { throw Derived(); }), begin + "of two bases\n");
}

// A lock of shoal may be held then, which the tasks need that others wait for.
TEST(MainThrowsDeathTest, BadAlloc_EndsTheProcessAtOnce) {
  const auto program = [](World& world) {
    if (world.rank() == 1) throw std::bad_alloc();
    world.wait();
  };
  const char* const text =
      "shoal: error: rank 1: the main function failed: out of memory \\(std::bad_alloc\\); the "
      "process ends at once";
  EXPECT_DEATH(run_world(2, 1, program), text);
}

TEST(MainThrows, WhatItCatchesItself_FailsNothing) {
  const int code = run_world(2, 1, [](World& world) {
    for (int i = 0; i < 3; ++i) {
      try {
        world.spawn([] {});
        throw i;
      } catch (int caught) {
        EXPECT_EQ(caught, i);
      }
      world.wait();
    }
  });
  EXPECT_EQ(code, 0);
}

TEST(MainThrows, OthersMeanwhile_SeeNoExceptionUnderWay) {
  std::atomic<int> seen{-1};
  std::atomic<bool> told{false};
  const Said said = said_by(1, 1, [&](World& world) {
    world.spawn([&] { throw std::runtime_error("first"); });
    // Runs on worker 0, while main function: in the middle of its throw.
    const auto am = world.make_am([&] { seen = std::uncaught_exceptions(); });
    struct AtEnd {
      std::atomic<int>& seen;
      ~AtEnd() { seen = std::uncaught_exceptions(); }
    };
    world.spawn([at_end = std::make_unique<AtEnd>(seen)] {});
    throw ObservedError(told);
  });
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(seen, 0);
}

// --- at any moment

/// Main functions that throw, or not, among messages, tasks and waits that use their stacks.
class Program {
 public:
  Program(World& world, Presence& presence, std::uint64_t seed)
      : world_(world),
        presence_(presence),
        random_(seed * 64 + static_cast<unsigned>(world.rank().value())) {}

  void run() {
    const Presence::OnStack object(presence_);
    std::vector<double> place(600);
    std::vector<double> payload(600, 1.0);
    const auto use = [this] { presence_.use(); };
    const auto large = world_.make_large_am<double>(
        [&](std::size_t count) {
          use();
          return std::span(place).first(count);
        },
        [&](std::span<double>) { use(); }, use);
    const auto small = world_.make_am([&](int) { use(); });
    const auto late = world_.make_am([&](int) { use(); }, {.delivery = Delivery::task});
    shoal::TaskGraph<int> graph(world_, "graph");
    graph.set_indegree([](int) { return 2; })
        .set_mapping([&](int key) { return key % world_.worker_count(); })
        .set_task([&](int) { use(); });
    shoal::Promise<int> promise;
    const shoal::SharedFuture<int> future = promise.future();
    shoal::TaskGroup group("group");
    for (int i = 0; i < 30; ++i) {
      const Rank target(draw(world_.size()));
      switch (draw(9)) {
        case 0:
          large.send(target, std::span<const double>(payload).first(
                                 static_cast<std::size_t>(1 + draw(600))));
          break;
        case 1:
          small.send(target, i);
          break;
        case 2:
          late.send(target, i);
          break;
        case 3:
          graph.fulfill(draw(10));
          break;
        case 4:
          world_.spawn([this, future] { wait_for(future); });
          break;
        case 5:
          group.spawn(use);
          break;
        case 6:
          world_.spawn([&, target] { small.send(target, 1); });
          break;
        case 7:
          shoal::yield();
          break;
        default:
          if (draw(12) == 0) throw std::runtime_error("at any moment");
      }
    }
    if (draw(3) == 0) throw 42;
    promise.set_value(1);
    world_.wait();
  }

 private:
  int draw(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  void wait_for(const shoal::SharedFuture<int>& future) {
    try {
      static_cast<void>(future.get());
    } catch (...) {
      presence_.use();
      throw;
    }
    presence_.use();
  }

  World& world_;
  Presence& presence_;
  std::mt19937_64 random_;
};

TEST(MainThrows, AtAnyMoment_NobodyUsesAStackThatIsGone) {
  constexpr int kRanksMax = 4;
  int failed = 0;
  for (std::uint64_t seed = 0; seed < std::uint64_t{sized(1500, 150)}; ++seed) {
    const int ranks = 1 + static_cast<int>(seed % kRanksMax);
    std::vector<Presence> presence(kRanksMax);
    const auto result = run_turns(
        {.seed = seed, .ranks = ranks, .workers = 1 + static_cast<int>(seed / kRanksMax % 3)},
        [&](World& world) {
          Program(world, presence[static_cast<std::size_t>(world.rank())], seed).run();
          return 0;
        });
    for (const Presence& one : presence) ASSERT_EQ(one.late_uses(), 0) << "seed " << seed;
    for (const auto& error : result.errors) failed += error != nullptr ? 1 : 0;
  }
  EXPECT_GT(failed, 0);
}

}  // namespace runtime_main_throws_test
