// Costs of tasks: in steady state no task takes anything from the heap.

#include <shoal/shoal.hpp>

#include "support/heap_meter.hpp"
#include "support/wait_world.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace sched_costs_test {

using shoal::TaskGraph;
using shoal::TaskGroup;
using shoal::World;
using shoal::testing::HeapMeter;

constexpr int kTasks = 20000;
constexpr std::size_t kForTheRound = 200;  // wait() and the workers' own, whatever kTasks is

// Allocations of a second round: the first one fills pools and tables.
std::size_t allocations_of(World& world, const std::function<void()>& round) {
  round();
  world.wait();
  const std::size_t before = HeapMeter::allocation_count();
  round();
  world.wait();
  return HeapMeter::allocation_count() - before;
}

class Costs : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!HeapMeter::counts) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  }
  static void expect_no_heap(const std::function<std::size_t(World&)>& program) {
    std::size_t count = 0;
    EXPECT_EQ(
        shoal::testing::run_world(1, GetParam(), [&](World& world) { count = program(world); }), 0);
    EXPECT_LT(count, kForTheRound);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, Costs, testing::Values(1, 2), testing::PrintToStringParamName());

TEST_P(Costs, SpawnedTasks_TakeNothingFromTheHeap) {
  expect_no_heap([](World& world) {
    return allocations_of(world, [&world] {
      for (int i = 0; i < kTasks; ++i) world.spawn([] {});
    });
  });
}

TEST_P(Costs, TasksOfAGraph_TakeNothingFromTheHeap) {
  expect_no_heap([](World& world) {
    TaskGraph<int> graph(world);
    const int workers = world.worker_count();
    graph.set_indegree([](int) { return 1; })
        .set_mapping([workers](int k) { return k % workers; })
        .set_task([&graph](int k) {
          if (k + 2 < kTasks) graph.fulfill(k + 2);
        });
    return allocations_of(world, [&graph] {
      graph.fulfill(0);
      graph.fulfill(1);
    });
  });
}

std::uint64_t fib(World& world, unsigned n) {
  if (n < 2) return n;
  auto first = world.async([&world, n] { return fib(world, n - 1); });
  const std::uint64_t second = fib(world, n - 2);
  return first.get() + second;
}

TEST_P(Costs, TasksThatAreWaitedFor_TakeNothingFromTheHeap) {
  expect_no_heap([](World& world) {
    return allocations_of(
        world, [&world] { world.spawn([&world] { EXPECT_EQ(fib(world, 18), 2584U); }); });
  });
}

TEST_P(Costs, TasksOfAGroup_TakeNothingFromTheHeap) {
  expect_no_heap([](World& world) {
    return allocations_of(world, [&world] {
      world.spawn([] {
        TaskGroup group;
        for (int i = 0; i < kTasks; ++i) group.spawn([] {});
        group.wait();
      });
    });
  });
}

TEST(MessageCosts, Messages_TakeNothingFromTheHeap) {
  if (!HeapMeter::counts) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  for (const int ranks : {1, 2}) {
    std::size_t count = 0;
    EXPECT_EQ(shoal::testing::run_world(ranks, 1,
                                        [&](World& world) {
                                          auto message = world.make_am([](std::uint64_t) {});
                                          const shoal::Rank target((world.rank() + 1) % ranks);
                                          const std::size_t mine = allocations_of(world, [&] {
                                            for (int i = 0; i < kTasks; ++i) {
                                              message.send(target, std::uint64_t{1});
                                            }
                                          });
                                          if (world.rank() == 0) count = mine;
                                        }),
              0);
    EXPECT_LT(count, 2 * kForTheRound) << ranks;
  }
}

}  // namespace sched_costs_test
