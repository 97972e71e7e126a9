// Whole worlds in one thread, in an order drawn from a seed.

#include <shoal/error.hpp>
#include <shoal/key.hpp>

#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace sched_turn_test {

using shoal::Rank;
using shoal::World;
using shoal::testing::run_turns;
using shoal::testing::TurnOptions;
using shoal::testing::TurnResult;

void expect_success(const TurnResult& result) {
  for (const std::exception_ptr& error : result.errors) {
    if (error != nullptr) ADD_FAILURE() << shoal::describe(error);
  }
  EXPECT_THAT(result.exit_codes, testing::Each(0));
}

/// Journal of events, in order; one thread does it all.
class Journal {
 public:
  void note(int rank, int what) {
    hash_ = shoal::KeyHash<std::tuple<std::uint64_t, int, int>>{}({hash_, rank, what});
    ++count_;
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  std::uint64_t hash_ = 0;
  int count_ = 0;
};

constexpr int kTasks = 30;

/// Tasks that spawn and send, waits and collectives; all of it noted.
Journal run_program(const TurnOptions& options) {
  Journal journal;
  const TurnResult result = run_turns(options, [&journal](World& world) {
    const int rank = world.rank();
    const auto call = world.make_am([&journal, &world, rank](int what) {
      journal.note(rank, 1000 + what);
      world.spawn([&journal, rank, what] { journal.note(rank, 2000 + what); });
    });
    for (int round = 0; round < 2; ++round) {
      for (int task = 0; task < kTasks; ++task) {
        world.spawn(
            [&journal, &world, &call, rank, task] {
              journal.note(rank, task);
              call.send(Rank((rank + task) % world.size()), task);
            },
            {.priority = task % 3});
      }
      world.wait();
      journal.note(rank, -1);
      const int sum = world.allreduce(rank, [](int a, int b) { return a + b; });
      EXPECT_EQ(sum, world.size() * (world.size() - 1) / 2);
    }
    return 0;
  });
  expect_success(result);
  EXPECT_EQ(journal.count(), options.ranks * 2 * (3 * kTasks + 1));
  return journal;
}

TEST(TurnWorld, TheSameSeed_GivesTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TurnOptions options{.seed = seed, .ranks = 3, .workers = 2};
    EXPECT_EQ(run_program(options).hash(), run_program(options).hash()) << "seed " << seed;
  }
}

TEST(TurnWorld, OtherSeeds_GiveOtherRuns) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    hashes.insert(run_program({.seed = seed, .ranks = 2, .workers = 2}).hash());
  }
  EXPECT_EQ(hashes.size(), 20U);
}

TEST(TurnWorld, TheMainsOf16Ranks_ShareOneThread) {
  const auto thread = std::this_thread::get_id();
  std::set<std::uintptr_t> stacks;
  int mains_running = 0;
  int most_at_once = 0;
  const auto result = run_turns({.seed = 5, .ranks = 16, .workers = 2}, [&](World& world) {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    const char here = 0;
    stacks.insert(reinterpret_cast<std::uintptr_t>(&here));
    most_at_once = std::max(most_at_once, ++mains_running);
    for (int i = 0; i < 5; ++i) {
      world.spawn([&thread] { EXPECT_EQ(std::this_thread::get_id(), thread); });
      world.wait();
      EXPECT_THAT(world.allgather(world.rank() * i), testing::SizeIs(16));
      world.barrier();
      EXPECT_TRUE(shoal::sched::in_main_function());
    }
    --mains_running;
    return 0;
  });
  expect_success(result);
  EXPECT_EQ(stacks.size(), 16U);  // each on a fiber of its own
  EXPECT_EQ(most_at_once, 16);
}

TEST(TurnWorld, AMainThatThrows_IsToldToAllRanks) {
  const auto result = run_turns({.seed = 3, .ranks = 4, .workers = 1}, [](World& world) -> int {
    if (world.rank() == 2) throw std::runtime_error("the third rank had enough");
    world.wait();
    ADD_FAILURE() << "wait() returned";
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) {
    ASSERT_NE(error, nullptr);
    EXPECT_THAT(shoal::describe(error), testing::HasSubstr("the third rank had enough"));
  }
}

TEST(TurnWorld, WhenNothingCanHappen_SaysSoInsteadOfHanging) {
  EXPECT_THROW(run_turns({.seed = 1, .ranks = 2, .workers = 1},
                         [](World& world) {
                           const auto forever = std::make_unique<shoal::Hold>(world.hold());
                           world.wait();
                           return 0;
                         }),
               shoal::Error);
}

TEST(TurnWorld, EveryScheduleOfManySeeds_CompletesAProgramOf8Ranks) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    run_program({.seed = seed, .ranks = 1 + static_cast<int>(seed % 8), .workers = 2});
  }
}

}  // namespace sched_turn_test
