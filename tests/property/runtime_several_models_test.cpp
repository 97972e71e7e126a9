// Programs of several models, one after the other in one world, with nothing between them: a rank
// that has ended one goes on with the next, while others need it for the one before.

#include "support/first_seed.hpp"
#include "support/flow_program.hpp"
#include "support/memory_program.hpp"
#include "support/random_collectives.hpp"
#include "support/random_dag.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace runtime_several_models_test {

using shoal::GlobalMemoryOptions;
using shoal::World;
using shoal::testing::Dag;
using shoal::testing::DagRun;
using shoal::testing::first_seed;
using shoal::testing::make_dag;
using shoal::testing::make_flow_program;
using shoal::testing::run_flow_program;
using shoal::testing::run_memory_program;
using shoal::testing::run_random_collectives;
using shoal::testing::run_sequentially;
using shoal::testing::run_turns;
using shoal::testing::sized_on_one_thread;

/// A part of a program, for all ranks.
struct Part {
  std::function<std::string(World& world)> run;  // what was wrong on a rank, or ""
  std::function<std::string()> difference = [] { return std::string(); };  // on all, afterwards
};

Part flow_part(std::uint64_t seed, int ranks, bool pruned) {
  auto program = make_flow_program(seed, {.ranks = ranks, .statements = 25, .pruned = pruned});
  auto expected = run_sequentially(program);
  return {[program = std::move(program), expected = std::move(expected)](World& world) {
    return run_flow_program(world, program, {}, expected);
  }};
}

Part memory_part(std::uint64_t seed) {
  return {[seed](World& world) {
    run_memory_program(world, seed, GlobalMemoryOptions::Checks::off);
    return std::string();
  }};
}

Part graph_part(std::uint64_t seed, int ranks) {
  const auto dag =
      std::make_shared<const Dag>(make_dag({.seed = seed, .nodes = 60, .ranks = ranks}));
  const auto all = std::make_shared<DagRun>(*dag);
  return {[dag, all](World& world) {
            all->run(world, {});
            return std::string();
          },
          [dag, all] { return all->difference(); }};
}

Part collectives_part(std::uint64_t seed) {
  return {[seed](World& world) { return run_random_collectives(world, seed, 6); }};
}

Part make_part(std::mt19937_64& random, int ranks) {
  const std::uint64_t seed = random();
  switch (random() % 5) {
    case 0:
    case 1:
      return flow_part(seed, ranks, seed % 2 == 0);
    case 2:
      return memory_part(seed);
    case 3:
      return graph_part(seed, ranks);
    default:
      return collectives_part(seed);
  }
}

TEST(SeveralModels, OneAfterTheOther_HaveTheResultsOfEach) {
  constexpr int kSeeds = sized_on_one_thread(400, 10);
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const int ranks = 3 + static_cast<int>(random() % 8);
    std::vector<Part> parts;
    for (int i = 0; i < 5; ++i) parts.push_back(make_part(random, ranks));
    const auto result = run_turns({.seed = seed, .ranks = ranks}, [&](World& world) {
      for (const Part& part : parts) EXPECT_EQ(part.run(world), "");
      return 0;
    });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
    for (const Part& part : parts) ASSERT_EQ(part.difference(), "");
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace runtime_several_models_test
