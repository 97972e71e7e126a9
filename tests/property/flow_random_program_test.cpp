// Random programs of a sequential flow have the result of running their statements one after the
// other: over numbers of ranks and workers, distributions, schedulers, orders of the simulator, and
// on threads.

#include "support/first_seed.hpp"
#include "support/flow_program.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace flow_random_program_test {

using shoal::FlowOptions;
using shoal::World;
using shoal::testing::first_seed;
using shoal::testing::FlowProgram;
using shoal::testing::make_flow_program;
using shoal::testing::run_flow_program;
using shoal::testing::run_sequentially;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::sized_on_one_thread;

/// Everything that a seed decides.
struct Case {
  explicit Case(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    ranks = 1 + static_cast<int>(random() % 5);
    workers = 1 + static_cast<int>(random() % 3);
    options.tasks_max = random() % 3 == 0 ? 1 + random() % 6 : 1000;
    options.copy_bytes_max = random() % 4 == 0 ? 4096 : 1U << 30U;
    options.early_bytes_max = random() % 3 == 0 ? random() % 2000 : 1U << 28U;
    scheduler = kSchedulers[random() % std::size(kSchedulers)];
    const std::uint64_t program_seed = random();
    program = make_flow_program(program_seed, {.ranks = ranks, .pruned = random() % 4 == 0});
  }
  /// Options of one rank.
  [[nodiscard]] FlowOptions options_here() const {
    FlowOptions mine = options;
    mine.scheduler = shoal::make_flow_scheduler(scheduler);
    return mine;
  }

  static constexpr const char* kSchedulers[] = {"locality", "fifo", "priority", "completion"};
  int ranks = 1;
  int workers = 1;
  FlowOptions options;
  const char* scheduler = "";
  FlowProgram program;
};

TEST(RandomFlow, InTheSimulator_HasTheSequentialResult) {
  constexpr int kSeeds = sized_on_one_thread(10'000, 100);
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Case one(seed);
    const auto expected = run_sequentially(one.program);
    const auto result =
        run_turns({.seed = seed, .ranks = one.ranks, .workers = one.workers}, [&](World& world) {
          EXPECT_EQ(run_flow_program(world, one.program, one.options_here(), expected), "");
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
    ASSERT_FALSE(HasFailure());
  }
}

// A rank that has ended one flow goes on with the next, while others need it to pass values on.
TEST(RandomFlow, SeveralInARow_HaveTheSequentialResults) {
  constexpr int kSeeds = sized_on_one_thread(500, 8);
  constexpr std::uint64_t kInARow = 4;
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const int ranks = 5 + static_cast<int>(seed % 8);
    std::vector<FlowProgram> programs;
    for (std::uint64_t i = 0; i < kInARow; ++i) {
      programs.push_back(
          make_flow_program(seed * kInARow + i, {.ranks = ranks, .pruned = (seed + i) % 2 == 0}));
    }
    const auto result = run_turns({.seed = seed, .ranks = ranks}, [&](World& world) {
      for (const FlowProgram& one : programs) {
        EXPECT_EQ(run_flow_program(world, one, {}, run_sequentially(one)), "");
      }
      return 0;
    });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(RandomFlow, OnThreads_HasTheSequentialResult) {
  constexpr int kSeeds = sized(150, 40);
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Case one(seed);
    const auto expected = run_sequentially(one.program);
    std::mutex mutex;
    std::string difference;
    const int code = run_world(one.ranks, one.workers, [&](World& world) {
      const std::string mine = run_flow_program(world, one.program, one.options_here(), expected);
      const std::lock_guard lock(mutex);
      difference += mine;
    });
    ASSERT_EQ(code, 0);
    ASSERT_EQ(difference, "");
  }
}

}  // namespace flow_random_program_test
