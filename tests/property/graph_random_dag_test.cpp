// Random graphs of tasks over random numbers of ranks and workers, against a sequential oracle:
// every task runs once, after all its predecessors, and gets their values.

#include "support/first_seed.hpp"
#include "support/random_dag.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <vector>

namespace graph_random_dag_test {

using shoal::Delivery;
using shoal::World;
using shoal::testing::Dag;
using shoal::testing::DagOptions;
using shoal::testing::DagRun;
using shoal::testing::first_seed;
using shoal::testing::make_dag;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::sized_on_one_thread;

/// Everything that a seed decides.
struct Case {
  explicit Case(std::uint64_t seed, int nodes_max) {
    std::mt19937_64 random(seed);
    const auto between = [&random](int from, int to) {
      return from + static_cast<int>(random() % static_cast<std::uint64_t>(to - from + 1));
    };
    dag.seed = random();
    dag.nodes = between(1, nodes_max);
    dag.ranks = between(1, 8);
    dag.workers = between(1, 3);
    dag.predecessors_max = between(0, 6);
    dag.reach = between(0, 1) == 0 ? between(1, 5) : nodes_max;  // chains, or wide graphs
    manner.dense = between(0, 1) == 0;
    manner.delivery = between(0, 2) == 0 ? Delivery::task : Delivery::inlined;
  }
  DagOptions dag;
  DagRun::Manner manner;
};

TEST(RandomDag, InOneThread_RunsEveryTaskOnceAfterItsPredecessors) {
  constexpr int kSeeds = sized_on_one_thread(300, 200);
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Case one(seed, 150);
    const Dag dag = make_dag(one.dag);
    DagRun run(dag);
    const auto result = run_turns(
        {.seed = seed, .ranks = one.dag.ranks, .workers = one.dag.workers}, [&](World& world) {
          run.run(world, one.manner);
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
    ASSERT_EQ(run.difference(), "");
  }
}

TEST(RandomDag, OnThreads_RunsEveryTaskOnceAfterItsPredecessors) {
  constexpr int kSeeds = sized(200, 50);
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Case one(seed, sized(400, 100));
    const Dag dag = make_dag(one.dag);
    DagRun run(dag);
    const int code = run_world(one.dag.ranks, one.dag.workers,
                               [&](World& world) { run.run(world, one.manner); });
    ASSERT_EQ(code, 0);
    ASSERT_EQ(run.difference(), "");
  }
}

TEST(RandomDag, SeveralGraphsInOneWorld_EachRunAsTheOnlyOne) {
  constexpr int kGraphs = 5;
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + sized(20, 5); ++seed) {
    SCOPED_TRACE(seed);
    Case one(seed, 300);
    std::vector<Dag> dags;
    for (int i = 0; i < kGraphs; ++i) {
      ++one.dag.seed;
      dags.push_back(make_dag(one.dag));
    }
    std::vector<std::unique_ptr<DagRun>> runs;
    for (const Dag& dag : dags) runs.push_back(std::make_unique<DagRun>(dag));
    const int code = run_world(one.dag.ranks, one.dag.workers, [&](World& world) {
      for (const auto& run : runs) run->run(world, one.manner);
    });
    ASSERT_EQ(code, 0);
    for (const auto& run : runs) ASSERT_EQ(run->difference(), "");
  }
}

}  // namespace graph_random_dag_test
