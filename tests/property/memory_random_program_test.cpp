// Random programs of global memory read what they must: over numbers of ranks and workers, ways to
// other ranks, cache policies, orders of the simulator with and without faults, and on threads.

#include "support/first_seed.hpp"
#include "support/memory_program.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>

namespace memory_random_program_test {

using shoal::World;
using shoal::testing::first_seed;
using shoal::testing::run_memory_program;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::sized_on_one_thread;
using Checks = shoal::GlobalMemoryOptions::Checks;

Checks checks_of(std::uint64_t seed) { return seed % 3 == 0 ? Checks::on : Checks::off; }

TEST(RandomMemory, InTheSimulator_ReadsWhatWasWritten) {
  constexpr int kSeeds = sized_on_one_thread(10'000, 50);
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto result = run_turns({.seed = seed,
                                   .ranks = 1 + static_cast<int>(seed % 5),
                                   .workers = 1 + static_cast<int>(seed / 5 % 3)},
                                  [&](World& world) {
                                    run_memory_program(world, seed, checks_of(seed));
                                    return 0;
                                  });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
  }
}

TEST(RandomMemory, OnThreads_ReadsWhatWasWritten) {
  constexpr int kSeeds = sized(150, 30);
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_EQ(run_world(1 + static_cast<int>(seed % 5), 1 + static_cast<int>(seed / 5 % 3),
                        [&](World& world) { run_memory_program(world, seed, checks_of(seed)); }),
              0);
  }
}

}  // namespace memory_random_program_test
