// Task graphs in rounds, outputs with readers, and who fulfills a task too often.

#include <shoal/shoal.hpp>

#include "runtime/config.hpp"
#include "support/refusal.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"
#include "support/stderr_tap.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace graph_rounds_test {

using shoal::Outputs;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using shoal::testing::sized;
using testing::AllOf;
using testing::HasSubstr;

/// Tasks 0 to 9, which need two dependencies.
void define(TaskGraph<int>& graph, std::vector<int>& runs) {
  graph.set_indegree([](int /*k*/) { return 2; })
      .set_mapping([](int /*k*/) { return 0; })
      .set_task([&runs](int k) { ++runs[static_cast<std::size_t>(k)]; });
}
void define_dense(TaskGraph<int>& graph, std::vector<int>& runs) {
  define(graph, runs);
  graph.set_dense(10, [](int k) { return static_cast<std::size_t>(k); });
}

TEST(GraphReset, EachTaskOfADenseGraph_RunsOnceMore) {
  EXPECT_EQ(error_of([](World& world) {
              std::vector<int> runs(10);
              TaskGraph<int> graph(world, "cells");
              define_dense(graph, runs);
              for (int round = 1; round <= 3; ++round) {
                for (int k = 0; k < 10; ++k) graph.fulfill(k, 2);
                world.wait();
                EXPECT_EQ(runs, std::vector<int>(10, round));
                EXPECT_THAT(refusal_of([&] { graph.fulfill(3); }),
                            AllOf(HasSubstr("cells[3]"), HasSubstr("has run already")));
                graph.reset();
              }
            }),
            "");
}

TEST(GraphReset, TasksThatAreHalfFulfilled_AreNamedAndNothingChanges) {
  for (const bool dense : {false, true}) {
    EXPECT_EQ(error_of([dense](World& world) {
                std::vector<int> runs(10);
                TaskGraph<int> graph(world, "cells");
                dense ? define_dense(graph, runs) : define(graph, runs);
                graph.fulfill(4);
                EXPECT_THAT(refusal_of([&] { graph.reset(); }),
                            AllOf(HasSubstr("reset() of task graph 'cells'"),
                                  HasSubstr("cells[4] has fulfilled 1 of 2")));
                graph.fulfill(4);
                world.wait();
                EXPECT_EQ(runs[4], 1);
                graph.reset();
              }),
              "");
  }
}

TEST(GraphCheck, ATaskThatRanAlready_IsRefusedWithThoseThatFulfilledIt) {
  const std::string error = error_of([](World& world) {
    std::vector<int> runs(10);
    TaskGraph<int> graph(world, "cells");
    define(graph, runs);
    world.spawn([&] { graph.fulfill(7); }, {.name = "left"});
    world.spawn([&] { graph.fulfill(7); }, {.name = "right"});
    auto late = world.async([&] { return 0; });
    static_cast<void>(late.get());
    while (runs[7] == 0) shoal::yield();
    world.spawn([&] { graph.fulfill(7); }, {.name = "culprit"});
    world.wait();
  });
  EXPECT_THAT(error,
              AllOf(HasSubstr("cells[7] is fulfilled by culprit"), HasSubstr("indegree is 2"),
                    HasSubstr("left"), HasSubstr("right"), HasSubstr("set_repeating()")));
}

TEST(GraphCheck, TooManyAtOnce_AreRefusedWithThoseBefore) {
  const std::string error = error_of([](World& world) {
    std::vector<int> runs(10);
    TaskGraph<int> graph(world, "cells");
    define(graph, runs);
    auto first = world.async([&] { graph.fulfill(7); }, {.name = "left"});
    first.get();
    graph.fulfill(7, 2);
  });
  EXPECT_THAT(error, AllOf(HasSubstr("cells[7] has fulfilled 1 of 2"), HasSubstr("left"),
                           HasSubstr("the main function")));
}

TEST(GraphCheck, AfterAWait_TasksMayRunAgain) {
  EXPECT_EQ(error_of([](World& world) {
              std::vector<int> runs(10);
              TaskGraph<int> graph(world, "cells");
              define(graph, runs);
              for (int round = 1; round <= 3; ++round) {
                for (int k = 0; k < 10; ++k) graph.fulfill(k, 2);
                world.wait();
                EXPECT_EQ(runs, std::vector<int>(10, round));
              }
            }),
            "");
}

// A rank may get messages of the next round before it has heard that this one is over.
TEST(GraphCheck, AfterAWaitOfSeveralRanks_TasksMayRunAgain) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto result = shoal::testing::run_turns(
        {.seed = seed, .ranks = 1 + static_cast<int>(seed % 5), .workers = 2}, [&](World& world) {
          TaskGraph<int> graph(world, "cells");
          graph.set_indegree([](int /*k*/) { return 1; })
              .set_mapping([](int /*k*/) { return 0; })
              .set_task([](int /*k*/) {});
          const auto start = world.make_am([&](int k) { graph.fulfill(k); });
          for (int round = 0; round < 4; ++round) {
            for (int rank = 0; rank < world.size(); ++rank) {
              start.send(shoal::Rank(rank), int{world.rank()});
            }
            world.wait();
          }
          return 0;
        });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error == nullptr ? "" : shoal::describe(error), "") << "seed " << seed;
    }
  }
}

TEST(GraphCheck, ARepeatingGraph_RunsTasksAgainAtOnce) {
  EXPECT_EQ(error_of([](World& world) {
              int runs = 0;
              TaskGraph<int> graph(world, "cells");
              graph.set_indegree([](int /*k*/) { return 1; })
                  .set_mapping([](int /*k*/) { return 0; })
                  .set_task([&](int k) {
                    if (++runs < 5) graph.fulfill(k);
                  })
                  .set_repeating();
              graph.fulfill(0);
              world.wait();
              EXPECT_EQ(runs, 5);
            }),
            "");
}

TEST(GraphCheck, WithoutIt_StuckErrorSaysThatATaskMayHaveBeenFulfilledTooOften) {
  shoal::runtime::Config config = shoal::testing::sim_config(1, 1, 1);
  config.check_graphs = false;
  shoal::runtime::SimulatedWorld simulated(config);
  simulated.run([](World& world) {
    std::vector<int> runs(10);
    TaskGraph<int> graph(world, "cells");
    define(graph, runs);
    for (int i = 0; i < 3; ++i) graph.fulfill(7);
    world.wait();
    return 0;
  });
  ASSERT_NE(simulated.ranks().front()->error(), nullptr);
  EXPECT_THAT(shoal::describe(simulated.ranks().front()->error()),
              AllOf(HasSubstr("cells[7] has fulfilled 1 of 2"),
                    HasSubstr("fulfilled too often before: --check-graphs names the caller")));
}

TEST(Outputs, EachReaderGetsTheValue_AndTheLastOneFreesIt) {
  EXPECT_EQ(error_of([](World& world) {
              Outputs<std::pair<int, int>, std::vector<int>> tiles(world, "tiles");
              const auto shared = std::make_shared<const std::vector<int>>(3, 7);
              const std::weak_ptr<const std::vector<int>> watched = shared;
              tiles.put({1, 2}, shared, 2);
              tiles.put({2, 1}, std::vector<int>{1}, 1);
              EXPECT_EQ(tiles.size(), 2U);
              EXPECT_EQ(tiles.take({1, 2}), shared);
              EXPECT_EQ(tiles.size(), 2U);
              EXPECT_EQ(*tiles.take({1, 2}), (std::vector<int>{7, 7, 7}));
              EXPECT_EQ(watched.use_count(), 1);
              EXPECT_EQ(*tiles.take({2, 1}), std::vector<int>{1});
              EXPECT_EQ(tiles.size(), 0U);
              tiles.check_all_read();
              tiles.put({1, 2}, std::vector<int>{5}, 1);  // a key may come again
              EXPECT_EQ(tiles.take({1, 2})->front(), 5);
            }),
            "");
}

TEST(Outputs, WhatIsRefused_IsNamed) {
  EXPECT_EQ(error_of([](World& world) {
              Outputs<int, std::string> rows(world, "rows");
              EXPECT_THAT(refusal_of([&] { rows.put(3, std::string("a"), 0); }),
                          HasSubstr("rows[3] is put for 0 readers"));
              EXPECT_THAT(refusal_of([&] { static_cast<void>(rows.take(3)); }),
                          HasSubstr("rows[3] is taken, but there is no such output"));
              rows.put(3, std::string("a"), 2);
              static_cast<void>(rows.take(3));
              EXPECT_THAT(refusal_of([&] { rows.put(3, std::string("b"), 1); }),
                          HasSubstr("not yet taken by 1 more readers"));
              EXPECT_THAT(
                  refusal_of([&] { rows.check_all_read(); }),
                  HasSubstr("rows: 1 outputs were not taken by all of their readers: [3] by "
                            "1 of 2"));
              static_cast<void>(rows.take(3));
              EXPECT_THAT(refusal_of([&] { static_cast<void>(rows.take(3)); }),
                          HasSubstr("all of its readers have taken it"));
            }),
            "");
}

TEST(Outputs, LeftOnes_AreNamedWhenItIsDestroyed) {
  shoal::testing::StderrTap tap;
  EXPECT_EQ(error_of([](World& world) {
              Outputs<int, std::string> rows(world, "rows");
              rows.put(3, std::string("a"), 2);
            }),
            "");
  EXPECT_THAT(tap.stop(), HasSubstr("shoal: warning: rows: 1 outputs"));
}

// --- on real threads

constexpr int kKeys = sized(300, 60);

/// An output that counts how many of its kind there are.
class CountedOutput {
 public:
  CountedOutput(std::atomic<int>& alive, int value) : alive_(&alive), values_(8, value) {
    alive_->fetch_add(1);
  }
  CountedOutput(CountedOutput&& other) noexcept
      : alive_(other.alive_), values_(std::move(other.values_)) {
    alive_->fetch_add(1);
  }
  CountedOutput(const CountedOutput&) = delete;
  CountedOutput& operator=(const CountedOutput&) = delete;
  ~CountedOutput() { alive_->fetch_sub(1); }
  [[nodiscard]] bool holds(int value) const { return values_ == std::vector<int>(8, value); }

 private:
  std::atomic<int>* alive_;
  std::vector<int> values_;
};

/// Puts kKeys outputs, each for two neighbouring groups of readers, and waits until all are read.
void pass_outputs(World& world, Outputs<int, CountedOutput>& outputs, int round) {
  constexpr int kReadersPerGroup = 3;
  std::atomic<int> alive{0};
  std::atomic<int> read{0};
  TaskGraph<std::pair<int, int>> readers(world, "readers");
  readers.set_indegree([](const auto&) { return 2; })
      .set_mapping([&](const auto& key) { return key.second % world.worker_count(); })
      .set_task([&](const auto& key) {
        const int next = (key.first + 1) % kKeys;
        const auto left = outputs.take(key.first);
        const auto right = outputs.take(next);
        if (left->holds(key.first + round) && right->holds(next + round)) ++read;
      });
  for (int k = 0; k < kKeys; ++k) {
    world.spawn([&, k] {
      outputs.put(k, CountedOutput(alive, k + round), 2 * kReadersPerGroup);
      for (int reader = 0; reader < kReadersPerGroup; ++reader) {
        readers.fulfill({k, reader});
        readers.fulfill({(k + kKeys - 1) % kKeys, reader});
      }
    });
  }
  world.wait();
  EXPECT_EQ(read, kKeys * kReadersPerGroup);
  EXPECT_EQ(alive, 0);
}

TEST(OutputsOnThreads, EachReaderGetsTheValue_AndTheLastOneFreesIt) {
  for (const int workers : {1, 2, 8}) {
    EXPECT_EQ(run_world(2, workers,
                        [](World& world) {
                          Outputs<int, CountedOutput> outputs(world, "tiles");
                          for (int round = 0; round < 3; ++round) {
                            pass_outputs(world, outputs, round);
                            outputs.check_all_read();
                          }
                        }),
              0);
  }
}

/// Tasks 0 to runs.size() - 1 on all workers, which need three dependencies.
void define_counted(TaskGraph<int>& graph, const World& world,
                    std::vector<std::atomic<int>>& runs) {
  graph.set_indegree([](int /*k*/) { return 3; })
      .set_mapping([&world](int k) { return k % world.worker_count(); })
      .set_task([&runs](int k) { ++runs[static_cast<std::size_t>(k)]; });
}

// Tasks of this rank and handlers of messages count one key at the same time.
TEST(GraphCheckOnThreads, TasksAndHandlersOfSeveralRounds_AreNotRefused) {
  const auto program = [](World& world) {
    std::vector<std::atomic<int>> runs(kKeys);
    TaskGraph<int> graph(world, "cells");
    define_counted(graph, world, runs);
    const auto start = world.make_am([&](int k) { graph.fulfill(k); });
    for (int round = 1; round <= 3; ++round) {
      for (int k = 0; k < kKeys; ++k) {
        start.send(shoal::Rank((world.rank() + 1) % world.size()), k);
        world.spawn([&graph, k] { graph.fulfill(k); });
        world.spawn([&graph, k] { graph.fulfill(kKeys - 1 - k); });
      }
      world.wait();
      for (const auto& count : runs) EXPECT_EQ(count, round);
    }
  };
  for (const int workers : {1, 2, 8}) {
    EXPECT_EQ(run_world(2, workers, program, {"--check-graphs"}), 0);
  }
}

TEST(GraphCheckOnThreads, OfFourWhoFulfillATaskOfThree_OneIsRefused) {
  const auto program = [](World& world) {
    std::vector<std::atomic<int>> runs(kKeys);
    std::atomic<int> refused{0};
    TaskGraph<int> graph(world, "cells");
    define_counted(graph, world, runs);
    for (int k = 0; k < kKeys; ++k) {
      for (int i = 0; i < 4; ++i) {
        world.spawn(
            [&, k] {
              const std::string error = refusal_of([&] { graph.fulfill(k); });
              if (error.find("is fulfilled by careless") != std::string::npos) ++refused;
            },
            {.name = "careless"});
      }
    }
    world.wait();
    EXPECT_EQ(refused, kKeys);
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  };
  for (const int workers : {1, 2, 8}) {
    EXPECT_EQ(run_world(1, workers, program, {"--check-graphs"}), 0);
  }
}

}  // namespace graph_rounds_test
