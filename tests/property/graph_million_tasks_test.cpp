// A million tasks over eight ranks.

#include "support/random_dag.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <random>

namespace graph_million_tasks_test {

using shoal::World;
using shoal::testing::Dag;
using shoal::testing::DagRun;
using shoal::testing::make_dag;
using shoal::testing::run_world;
using shoal::testing::sized;

class MillionTasks : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Counters, MillionTasks, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "dense" : "hashed"; });

TEST_P(MillionTasks, OverEightRanks_EachRunOnceAfterTheirPredecessors) {
  const std::uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  SCOPED_TRACE(seed);
  constexpr int kTasks = sized(1'000'000, 50'000);
  const Dag dag = make_dag({.seed = seed,
                            .nodes = kTasks,
                            .ranks = 8,
                            .workers = 2,
                            .predecessors_max = 3,
                            .reach = 10'000});
  DagRun run(dag);
  std::atomic<std::uint64_t> tasks_run{0};
  const int code = run_world(8, 2, [&](World& world) {
    run.run(world, {.dense = GetParam()});
    tasks_run += world.statistics().tasks_run;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(run.difference(), "");
  EXPECT_EQ(tasks_run, static_cast<std::uint64_t>(kTasks));
}

}  // namespace graph_million_tasks_test
