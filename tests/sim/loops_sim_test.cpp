// Loops in simulated worlds: work is shared in virtual time, and runs repeat.

#include <shoal/loops.hpp>
#include <shoal/pipeline.hpp>
#include <shoal/shoal.hpp>
#include <shoal/static_graph.hpp>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

namespace loops_sim_test {

using shoal::World;
using shoal::runtime::SimulatedWorld;
using shoal::testing::sim_config;
using shoal::testing::sized_on_one_thread;

struct Outcome {
  std::uint64_t ns = 0;  // of the loop
  std::uint64_t hash = 0;
};

/// A loop whose iterations take these times.
Outcome run_loop(int workers, std::uint64_t seed, int count, const std::function<double(int)>& us) {
  Outcome outcome;
  SimulatedWorld world(sim_config(1, workers, seed));
  world.run([&](World& mine) {
    const std::uint64_t begin = mine.now_ns();
    shoal::parallel_for(
        0, count, [&](int i) { shoal::compute(shoal::Cost::of_seconds(us(i) * 1e-6), [] {}); });
    outcome.ns = mine.now_ns() - begin;
    return 0;
  });
  for (const auto& rank : world.ranks()) {
    if (rank->error() != nullptr) std::rethrow_exception(rank->error());
  }
  outcome.hash = world.trace().hash();
  return outcome;
}

void work() {
  shoal::compute(shoal::Cost::of_seconds(1e-5), [] {});
}

/// The program on one rank.
void run_on(int workers, const std::function<void(World&)>& program) {
  SimulatedWorld world(sim_config(1, workers, 1));
  world.run([&](World& mine) {
    program(mine);
    return 0;
  });
  for (const auto& rank : world.ranks()) {
    if (rank->error() != nullptr) std::rethrow_exception(rank->error());
  }
}

TEST(LoopsSimulated, AnAffinity_BringsIterationsBackToTheirWorkers) {
  constexpr int kCount = 200;
  run_on(2, [](World& world) {
    shoal::Affinity affinity;
    const auto loop = [&] {
      shoal::parallel_for(0, kCount, [](int) { work(); }, {.affinity = &affinity});
    };
    const auto places = [&] {
      std::vector<int> all;
      for (int i = 0; i < kCount; ++i) all.push_back(affinity.worker_of(i)->value());
      return all;
    };
    loop();
    const std::vector<int> before = places();
    // Without the memory the other worker, which begins now, would take the first half.
    world.async(loop, {.worker = shoal::WorkerId(1), .bound = true}).get();
    const std::vector<int> after = places();
    int same = 0;
    for (std::size_t i = 0; i < before.size(); ++i) same += before[i] == after[i] ? 1 : 0;
    EXPECT_GT(same, kCount * 3 / 4);
  });
}

TEST(LoopsSimulated, APriority_LetsTheLoopPassOtherTasks) {
  for (const bool invokes : {false, true}) {
    for (const int priority : {0, 5}) {
      run_on(2, [invokes, priority](World& world) {
        constexpr int kTasks = 100;
        int done = 0;
        for (int i = 0; i < kTasks; ++i) {
          world.spawn([&] {
            work();
            ++done;
          });
        }
        if (invokes) {
          const auto work_100 = [] {
            for (int i = 0; i < 100; ++i) work();
          };
          shoal::parallel_invoke({.priority = priority}, work_100, work_100);
        } else {
          shoal::parallel_for(0, 200, [](int) { work(); }, {.priority = priority});
        }
        if (priority > 0) {
          EXPECT_LT(done, kTasks / 10);
        } else {
          EXPECT_GT(done, kTasks / 2);
        }
        world.wait();
      });
    }
  }
}

void run_pipeline(std::optional<int> priority) {
  shoal::pipeline(
      {.tokens = 4, .priority = priority},
      [i = 0]() mutable { return i < 100 ? std::optional(i++) : std::nullopt; },
      shoal::parallel([](int /*item*/) { work(); }));
}

void run_graph(std::optional<int> priority) {
  shoal::StaticGraph graph;
  auto& first = graph.add([] {});
  for (int i = 0; i < 100; ++i) first.before(graph.add(work));
  graph.run({.priority = priority});
}

// One worker chooses between tasks of these calls and others of priority 3.
TEST(LoopsSimulated, PipelinesAndGraphs_HaveThePriorityOfTheirCallerOrTheirOwn) {
  for (const auto call : {&run_pipeline, &run_graph}) {
    for (const std::optional<int> priority : {std::optional<int>(), std::optional(1)}) {
      SCOPED_TRACE(call == &run_graph ? "graph" : "pipeline");
      run_on(1, [&](World& world) {
        constexpr int kTasks = 100;
        int done = 0;
        for (int i = 0; i < kTasks; ++i) world.spawn([&done] { ++done; }, {.priority = 3});
        int before_its_end = -1;
        world
            .async(
                [&] {
                  call(priority);
                  before_its_end = done;
                },
                {.priority = 5})
            .get();
        if (priority.has_value()) {
          EXPECT_EQ(before_its_end, kTasks);
        } else {
          EXPECT_LT(before_its_end, kTasks / 10);
        }
        world.wait();
      });
    }
  }
}

TEST(LoopsSimulated, CostsOfAnyShape_AreShared) {
  const std::vector<std::pair<const char*, std::function<double(int)>>> shapes = {
      {"uniform", [](int) { return 10.0; }},
      {"growing", [](int i) { return 0.1 * i; }},
      {"falling", [](int i) { return 0.1 * (200 - i); }},
      {"first ones", [](int i) { return i < 20 ? 100.0 : 1.0; }},
      {"random", [](int i) { return i * 7919 % 13 == 0 ? 80.0 : 4.0; }}};
  constexpr int kCount = 200;
  for (const auto& [name, us] : shapes) {
    double all_us = 0;
    for (int i = 0; i < kCount; ++i) all_us += us(i);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      for (const int workers : {1, 2, 4}) {
        const double took_us = static_cast<double>(run_loop(workers, seed, kCount, us).ns) * 1e-3;
        EXPECT_LT(took_us, all_us / workers * 1.35 + 100) << name << ", " << workers;
      }
    }
  }
}

TEST(LoopsSimulated, TheSameSeed_GivesTheSameRun) {
  const auto seeds = static_cast<std::uint64_t>(sized_on_one_thread(40, 10));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto us = [](int i) { return i % 10 * 3.0; };
    EXPECT_EQ(run_loop(3, seed, 100, us).hash, run_loop(3, seed, 100, us).hash) << seed;
  }
}

}  // namespace loops_sim_test
