// Random programs on whole worlds, one thread and a seed each. wait() must return exactly when all
// that was made has ended, and say the same on all ranks.

#include "support/random_program.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>

namespace team_world_test {

using shoal::World;
using shoal::testing::Fate;
using shoal::testing::RandomProgram;
using shoal::testing::run_random;
using shoal::testing::run_turns;
using shoal::testing::sized;
using shoal::testing::TurnOptions;
using shoal::testing::TurnResult;

TurnOptions options_of(std::uint64_t seed) {
  std::mt19937_64 random(~seed);
  TurnOptions options;
  options.seed = seed;
  options.ranks = 1 + static_cast<int>(random() % 9);
  options.workers = 1 + static_cast<int>(random() % 3);
  if (random() % 2 == 0) options.link = {512, 2048};
  return options;
}

/// The hash of what happened.
std::uint64_t run_program(std::uint64_t seed, Fate fate) {
  RandomProgram program(seed, fate);
  const TurnOptions options = options_of(seed);
  const TurnResult result =
      run_turns(options, [&program](World& world) { return run_random(program, world); });
  EXPECT_THAT(program.mistakes, testing::IsEmpty());
  const bool failed = program.failures > 0;
  for (const std::exception_ptr& error : result.errors) EXPECT_EQ(error != nullptr, failed);
  for (const std::string& error : program.errors) EXPECT_EQ(error, program.errors.front());
  const bool told = failed || fate == Fate::gets_stuck;
  EXPECT_EQ(program.errors.size(), told ? static_cast<std::size_t>(options.ranks) : 0U);
  if (!failed) {
    EXPECT_EQ(program.alive, 0);
    EXPECT_EQ(program.epoch, program.epochs);
  }
  return program.trace;
}

class RandomPrograms : public testing::TestWithParam<Fate> {};

// In all, more than 10'000 programs.
TEST_P(RandomPrograms, AllRanksAgreeAndWaitReturnsInTime) {
  const int count = sized(1700, 30);
  const std::uint64_t base = std::random_device{}();
  std::printf("seeds: 0 to %d and %llu to %llu\n", count - 1, static_cast<unsigned long long>(base),
              static_cast<unsigned long long>(base) + static_cast<unsigned long long>(count) - 1);
  for (const std::uint64_t first : {std::uint64_t{0}, base}) {
    for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      run_program(seed, GetParam());
      if (HasFailure()) return;
    }
  }
}

TEST_P(RandomPrograms, SameSeed_RunsTheSameWay) {
  for (std::uint64_t seed = 0; seed < std::uint64_t{sized(20, 5)}; ++seed) {
    EXPECT_EQ(run_program(seed, GetParam()), run_program(seed, GetParam())) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Fates, RandomPrograms,
                         testing::Values(Fate::good, Fate::fails, Fate::gets_stuck));

}  // namespace team_world_test
