// Executors: policies of sections, hierarchies, stealing.

#include "support/object_worlds.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace object_executor_test {

using shoal::DistributedObject;
using shoal::Executor;
using shoal::Handle;
using shoal::Policy;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::in_object_worlds;
using shoal::testing::object_error;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using testing::AllOf;
using testing::HasSubstr;

/// Order in which `fill` has tasks run on one worker.
template <class F>
std::string order_of(F fill) {
  std::string order;
  const auto result = run_turns({.seed = 3, .ranks = 1, .workers = 1}, [&](World& world) {
    fill(world, [&order](char name) { return [&order, name] { order.push_back(name); }; });
    return 0;
  });
  EXPECT_EQ(result.errors[0], nullptr) << shoal::describe(result.errors[0]);
  return order;
}

TEST(Executor, FifoAndPriority) {
  EXPECT_EQ(order_of([](World& world, auto task) {
              Executor executor(world);
              executor.spawn(task('a'), 1);
              executor.spawn(task('b'), 3);
              executor.spawn(task('c'), 2);
              EXPECT_EQ(executor.waiting_count(), 3U);
              executor.wait();
              EXPECT_EQ(executor.waiting_count(), 0U);
            }),
            "abc");
  EXPECT_EQ(order_of([](World& world, auto task) {
              Executor executor(world, Policy::priority);
              executor.spawn(task('a'), 1);
              executor.spawn(task('b'), 3);
              executor.spawn(task('c'), 2);
              executor.spawn(task('d'), 3);
              executor.spawn(task('e'), -1);
              executor.wait();
            }),
            "bdcae");
}

TEST(Executor, OfAHierarchy_EachOrdersItsOwn) {
  // Sections of equal priority take turns; in each, its own policy holds.
  EXPECT_EQ(order_of([](World& world, auto task) {
              Executor outer(world);
              Executor first(world, outer);
              Executor second(world, outer, Policy::priority);
              for (const char name : {'a', 'b', 'c'}) first.spawn(task(name));
              second.spawn(task('x'), 1);
              second.spawn(task('y'), 2);
              second.spawn(task('z'), 3);
              outer.spawn(task('o'));
              outer.wait();
            }),
            "azobycx");
  // The section of the higher priority goes first, whatever the priorities within it.
  EXPECT_EQ(order_of([](World& world, auto task) {
              Executor outer(world, Policy::priority);
              Executor low(world, outer, Policy::priority, 1);
              Executor high(world, outer, Policy::fifo, 2);
              Executor inner(world, high);
              low.spawn(task('l'), 100);
              high.spawn(task('h'));
              inner.spawn(task('i'));
              outer.spawn(task('o'), 3);
              outer.wait();
            }),
            "ohil");
}

TEST(Executor, OfANestedSection_WaitsForItsTasksOnly) {
  in_object_worlds(3, [](World& world) {
    Executor outer(world);
    int done = 0;
    {
      Team pair = world.split(world.rank() == 2 ? 1 : 0);
      Executor inner(pair, outer, Policy::priority);
      for (int i = 0; i < 5; ++i) {
        inner.spawn([&done] {
          shoal::yield();
          ++done;
        });
      }
      inner.wait();
      EXPECT_EQ(done, 5);
    }
    outer.spawn([&done] { done += 100; });
    outer.wait();
    EXPECT_EQ(done, 105);
  });
}

class Tally : public DistributedObject<Tally> {
 public:
  explicit Tally(Team& team) : DistributedObject(team) {}
  std::vector<int> ran = std::vector<int>(200);
  [[nodiscard]] const std::vector<int>& counts() const { return ran; }
};

void count(const Handle<Tally>& tally, int which) {
  ++tally.get().ran[static_cast<std::size_t>(which)];
  shoal::yield();
}

TEST(Executor, ItsExample) {
  in_object_worlds(3, [](World& world) {
    Team team = world.split(world.rank() == 0 ? 1 : 0);
    Tally tally(team);
    int done = 0;
    // [executors]
    shoal::Executor outer(world, shoal::Policy::priority);
    shoal::Executor inner(team, outer, shoal::Policy::stealing, 5);  // a section within the first
    outer.spawn([&] { ++done; }, 3);          // priority 3; stays on its rank
    inner.spawn<&count>(tally.handle(), 17);  // may run on another rank of the team
    inner.wait();                             // all tasks of this section have run
    outer.wait();
    // [/executors]
    EXPECT_EQ(done, 1);
    EXPECT_EQ(team.allreduce(tally.ran[17], std::plus<>()), team.size());
    tally.fence();
  });
}

TEST(Executor, ThatSteals_RunsEachTaskOnce_AndUsesOtherRanks) {
  int ranks_used = 0;
  in_object_worlds(5, [&](World& world) {
    Tally tally(world);
    Executor executor(world, Policy::stealing);
    if (world.rank() == 1) {
      for (int i = 0; i < 150; ++i) executor.spawn<&count>(tally.handle(), i);
      executor.spawn([&tally] { ++tally.ran[199]; });  // stays here
    }
    executor.wait();
    std::vector<int> sum = tally.ran;
    const int own = std::accumulate(sum.begin(), sum.end(), 0);
    ranks_used += own > 0 ? 1 : 0;
    world.allreduce(std::span(sum), std::plus<>());
    for (std::size_t i = 0; i < 150; ++i) EXPECT_EQ(sum[i], 1) << i;
    EXPECT_EQ(tally.ran[199], world.rank() == 1 ? 1 : 0);
    executor.fence();
  });
  EXPECT_GT(ranks_used, 2 * static_cast<int>(shoal::testing::kObjectSeeds));
}

TEST(Executor, OnThreads_RunsAllTasks) {
  EXPECT_EQ(
      run_world(3, 3,
                [](World& world) {
                  Tally tally(world);
                  Executor outer(world, Policy::priority);
                  Executor stealing(world, outer, Policy::stealing, 1);
                  std::atomic<int> local{0};
                  for (int i = 0; i < 500; ++i) outer.spawn([&local] { ++local; }, i % 3);
                  for (int i = 0; i < 60 && world.rank() == 0; ++i) {
                    stealing.spawn<[](const Handle<Tally>& to, int which) {
                      to.async<[](Tally& one, int at) { ++one.ran[static_cast<std::size_t>(at)]; }>(
                          Rank(2), which);
                    }>(tally.handle(), i);
                  }
                  outer.wait();
                  const bool good =
                      local == 500 && (world.rank() != 2 ||
                                       std::count(tally.ran.begin(), tally.ran.end(), 1) == 60);
                  outer.fence();
                  return good ? 0 : 1;
                }),
      0);
}

TEST(Executor, ATaskThatThrows_FailsItsSection) {
  EXPECT_THAT(object_error(2, 4,
                           [](World& world) {
                             Executor executor(world);
                             executor.spawn([] { throw std::runtime_error("no more work"); });
                             executor.spawn([] {});
                             executor.wait();
                           }),
              AllOf(HasSubstr("no more work"), HasSubstr("a task of an executor")));
}

}  // namespace object_executor_test
