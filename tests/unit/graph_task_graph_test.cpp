#include <shoal/graph.hpp>

#include "support/heap_meter.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace graph_task_graph_test {

enum class Colour { red, green, blue };

/// With a hash found beside the type.
struct Tile {
  int row = 0;
  int column = 0;
  bool operator==(const Tile&) const = default;
};
inline std::uint64_t shoal_hash(const Tile& tile) {
  return static_cast<std::uint64_t>(tile.row) << 32U | static_cast<std::uint32_t>(tile.column);
}

/// With std::hash, and all hashes equal.
struct Clashing {
  std::string name;
  bool operator==(const Clashing&) const = default;
};

}  // namespace graph_task_graph_test

template <>
struct std::hash<graph_task_graph_test::Clashing> {
  std::size_t operator()(const graph_task_graph_test::Clashing& /*key*/) const { return 1; }
};

namespace graph_task_graph_test {

using namespace graph_task_graph_test;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::HeapMeter;
using shoal::testing::run_world;
using shoal::testing::sized;
using testing::ElementsAre;

void expect_runs(const std::function<void(World&)>& program) { EXPECT_EQ(error_of(program), ""); }

constexpr auto kFirstWorker = [](const auto& /*key*/) { return 0; };
constexpr auto kIndependent = [](const auto& /*key*/) { return 1; };

// --- what it does

TEST(TaskGraph, ATask_RunsWhenItsLastDependencyIsFulfilled) {
  expect_runs([](World& world) {
    std::vector<int> ran;
    TaskGraph<int> graph(world);
    graph.set_indegree([](int k) { return k; })
        .set_task([&ran](int k) { ran.push_back(k); })
        .set_mapping(kFirstWorker);
    graph.fulfill(1);
    graph.fulfill(3);
    graph.fulfill(3);
    graph.fulfill(2);
    EXPECT_THROW(world.wait(), shoal::StuckError);
    EXPECT_THAT(ran, ElementsAre(1));
    graph.fulfill(3);
    graph.fulfill(2);
    world.wait();
    EXPECT_THAT(ran, testing::UnorderedElementsAre(1, 2, 3));
  });
}

TEST(TaskGraph, ACount_FulfillsSeveralAtOnce) {
  expect_runs([](World& world) {
    std::vector<int> ran;
    TaskGraph<int> graph(world);
    graph.set_indegree([](int /*k*/) { return 5; })
        .set_task([&ran](int k) { ran.push_back(k); })
        .set_mapping(kFirstWorker);
    graph.fulfill(1, 5);
    graph.fulfill(2, 3);
    graph.fulfill(2, 2);
    graph.fulfill(3, 4);
    graph.fulfill(3);
    world.wait();
    EXPECT_THAT(ran, testing::UnorderedElementsAre(1, 2, 3));
  });
}

TEST(TaskGraph, ATaskThatRan_IsForgottenAndMayComeAgain) {
  expect_runs([](World& world) {
    int runs = 0;
    TaskGraph<int> graph(world);
    graph.set_indegree([](int /*k*/) { return 2; })
        .set_task([&runs](int /*k*/) { ++runs; })
        .set_mapping(kFirstWorker);
    for (int round = 1; round <= 5; ++round) {
      graph.fulfill(7);
      graph.fulfill(7);
      world.wait();
      EXPECT_EQ(runs, round);
    }
  });
}

template <class K>
class TaskGraphKeys : public testing::Test {
 public:
  static K make(int i) {
    if constexpr (std::is_same_v<K, std::string>) {
      return "a key that is longer than short strings are: " + std::to_string(i);
    } else if constexpr (std::is_same_v<K, Clashing>) {
      return {std::to_string(i)};
    } else if constexpr (std::is_integral_v<K>) {
      return i;
    } else if constexpr (std::is_same_v<K, std::tuple<int, std::string, Colour>>) {
      return {i / 10, std::to_string(i % 10), Colour::blue};
    } else {
      return {Tile{i, 1}, Tile{2, i}};
    }
  }
};

// One of each way to hash and write a key: a number, a text, parts, types of the program.
using Keys = testing::Types<int, std::string, std::tuple<int, std::string, Colour>,
                            std::pair<Tile, Tile>, Clashing>;

class KeyNames {
 public:
  template <class K>
  static std::string GetName(int i) {  // NOLINT(readability-identifier-naming): gtest's
    constexpr std::array names{"Int", "String", "Tuple", "Pair_of_user_types", "StdHash"};
    return names[static_cast<std::size_t>(i)];
  }
};
TYPED_TEST_SUITE(TaskGraphKeys, Keys, KeyNames);

TYPED_TEST(TaskGraphKeys, OfThisType_NameOneTaskEach) {
  using K = TypeParam;
  for (const bool dense : {false, true}) {
    expect_runs([dense](World& world) {
      constexpr int kKeys = 100;
      std::vector<int> runs(kKeys, 0);
      const auto number_of = [](const K& key) {
        for (int i = 0; i < kKeys; ++i) {
          if (TestFixture::make(i) == key) return static_cast<std::size_t>(i);
        }
        return std::size_t{kKeys};
      };
      TaskGraph<K> graph(world, "typed");
      graph.set_indegree([](const K& /*key*/) { return 2; })
          .set_task([&](const K& key) { ++runs[number_of(key)]; })
          .set_mapping(kFirstWorker);
      if (dense) graph.set_dense(kKeys, number_of);
      for (int i = 0; i < kKeys; ++i) graph.fulfill(TestFixture::make(i));
      for (int i = kKeys - 1; i >= 0; --i) graph.fulfill(TestFixture::make(i));
      world.wait();
      EXPECT_THAT(runs, testing::Each(1));
    });
  }
}

// --- order and place

TEST(TaskGraph, LargerPriorities_RunFirst) {
  expect_runs([](World& world) {
    std::vector<int> ran;
    TaskGraph<int> graph(world);
    graph.set_indegree(kIndependent)
        .set_task([&ran](int k) { ran.push_back(k); })
        .set_mapping(kFirstWorker)
        .set_priority([](int k) { return k; });
    for (const int k : {3, -4, 8, 1, -1, 5}) graph.fulfill(k);
    world.wait();
    EXPECT_THAT(ran, ElementsAre(8, 5, 3, 1, -1, -4));
  });
}

TEST(TaskGraph, BoundTasks_RunOnTheWorkerTheyAreMappedTo) {
  constexpr int kTasks = sized(500, 100);
  std::atomic<int> misplaced{0};
  std::atomic<int> ran{0};
  const int code = run_world(2, 4, [&](World& world) {
    const auto& scheduler = world.core().scheduler();
    TaskGraph<int> graph(world);
    graph.set_indegree(kIndependent)
        .set_task([&](int k) {
          ++ran;
          if (k % 2 == 0 && scheduler.count_slot() != k % 4) ++misplaced;
          if (k + 1 < kTasks) graph.fulfill(k + 1);
        })
        .set_mapping([](int k) { return k % 4; })
        .set_binding([](int k) { return k % 2 == 0; });
    graph.fulfill(0);
    world.wait();
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(ran, 2 * kTasks);
  EXPECT_EQ(misplaced, 0);
}

// --- who may fulfill

TEST(TaskGraph, MainTasksHandlersAndThreads_MayAllFulfill) {
  constexpr int kKeys = sized(1000, 200);
  std::atomic<int> ran{0};
  const int code = run_world(3, 2, [&](World& world) {
    TaskGraph<int> graph(world);
    graph
        .set_indegree([](int /*k*/) { return 5; })  // one of each kind; two ranks send
        .set_task([&ran](int /*k*/) { ++ran; })
        .set_mapping([](int k) { return k % 2; });
    const auto tell = world.make_am([&graph](int k) { graph.fulfill(k); });
    std::thread thread([&, hold = world.hold()] {
      for (int k = 0; k < kKeys; ++k) graph.fulfill(k);
    });
    for (int k = 0; k < kKeys; ++k) {
      graph.fulfill(k);
      world.spawn([&graph, k] { graph.fulfill(k); });
      for (int other = 1; other < 3; ++other) tell.send(Rank((world.rank() + other) % 3), k);
    }
    world.wait();
    thread.join();
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(ran, 3 * kKeys);
}

TEST(TaskGraph, TheFirstFulfill_MayComeFromSeveralThreadsAtOnce) {
  const int code = run_world(1, 2, [](World& world) {
    for (int round = 0; round < sized(200, 50); ++round) {
      std::atomic<int> ran{0};
      TaskGraph<int> graph(world);
      graph.set_indegree([](int /*k*/) { return 2; })
          .set_task([&ran](int /*k*/) { ++ran; })
          .set_mapping(kFirstWorker);
      std::thread thread([&graph, hold = world.hold()] { graph.fulfill(1); });
      graph.fulfill(1);
      world.wait();
      EXPECT_EQ(ran, 1);
      thread.join();
    }
  });
  EXPECT_EQ(code, 0);
}

// As the README does it: the handler needs the graph, the tasks need the active message, and there
// is no barrier between ranks that are set up and ranks that are not.
TEST(TaskGraph, SetUpAfterTheMessageThatFulfillsIt_MissesNothing) {
  std::atomic<int> ran{0};
  constexpr int kTasks = 30;
  constexpr int kRounds = sized(100, 30);
  const int code = run_world(3, 2, [&](World& world) {
    for (int round = 0; round < kRounds; ++round) {
      TaskGraph<int> graph(world);
      const auto am = world.make_am([&graph](int k) { graph.fulfill(k); });
      for (int i = 0; world.rank() > 0 && i < 50; ++i) std::this_thread::yield();
      graph.set_indegree(kIndependent)
          .set_task([&](int k) {
            ++ran;
            if (k + 1 < kTasks) am.send(Rank((k + 1) % world.size()), k + 1);
          })
          .set_mapping([](int k) { return k % 2; });
      if (world.rank() == 0) graph.fulfill(0);
      world.wait();
    }
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(ran, kRounds * kTasks);
}

TEST(TaskGraph, WhatCameBeforeAnyFulfill_IsVisibleToTheTask) {
  // Plain memory: ThreadSanitizer checks that each of four writers happens before the reader.
  constexpr int kKeys = sized(2000, 300);
  for (const bool dense : {false, true}) {
    const int code = run_world(1, 4, [dense](World& world) {
      std::vector<std::array<int, 4>> written(kKeys);
      std::atomic<int> lost{0};
      TaskGraph<int> graph(world);
      graph.set_indegree([](int /*k*/) { return 4; })
          .set_task([&](int k) {
            for (const int value : written[static_cast<std::size_t>(k)]) lost += 1 - value;
          })
          .set_mapping([](int k) { return k % 4; });
      if (dense) graph.set_dense(kKeys, [](int k) { return static_cast<std::size_t>(k); });
      for (int writer = 0; writer < 4; ++writer) {
        world.spawn([&, writer] {
          for (int k = 0; k < kKeys; ++k) {
            written[static_cast<std::size_t>(k)][static_cast<std::size_t>(writer)] = 1;
            graph.fulfill(k);
          }
        });
      }
      world.wait();
      EXPECT_EQ(lost, 0);
    });
    EXPECT_EQ(code, 0);
  }
}

// --- several graphs, made and destroyed

TEST(TaskGraph, SeveralGraphs_TriggerEachOther) {
  expect_runs([](World& world) {
    constexpr int kTurns = 100;
    std::string order;
    TaskGraph<int> ping(world, "ping");
    TaskGraph<std::string> pong(world, "pong");
    ping.set_indegree(kIndependent)
        .set_task([&](int k) {
          order += 'i';
          if (k < kTurns) pong.fulfill(std::to_string(k));
        })
        .set_mapping(kFirstWorker);
    pong.set_indegree(kIndependent)
        .set_task([&](const std::string& k) {
          order += 'o';
          ping.fulfill(std::stoi(k) + 1);
        })
        .set_mapping(kFirstWorker);
    ping.fulfill(0);
    world.wait();
    EXPECT_EQ(order.size(), 2U * kTurns + 1U);
  });
}

TEST(TaskGraph, GraphsMadeAndDestroyedBetweenWaits_LeaveNothingBehind) {
  std::atomic<int> ran{0};
  constexpr int kRounds = sized(200, 40);
  const int code = run_world(2, 2, [&](World& world) {
    std::optional<TaskGraph<int>> kept;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::unique_ptr<TaskGraph<int>>> graphs;
      for (int g = 0; g < 3; ++g) {
        auto& graph = *graphs.emplace_back(std::make_unique<TaskGraph<int>>(world));
        graph.set_indegree([](int k) { return k + 1; })
            .set_task([&ran](int /*k*/) { ++ran; })
            .set_mapping([](int k) { return k % 2; });
        if (g == 1) graph.set_dense(10, [](int k) { return static_cast<std::size_t>(k); });
        for (int k = 0; k < 10; ++k) graph.fulfill(k, k + 1);
      }
      world.wait();
      if (round % 2 == 0) kept.emplace(world, "unused");  // destroyed in another round
    }
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(ran, 2 * kRounds * 30);
}

TEST(TaskGraph, AnUnusedGraph_NeedsNoFunctions) {
  expect_runs([](World& world) {
    const TaskGraph<int> graph(world, "unused");
    world.wait();
    EXPECT_EQ(graph.name(), "unused");
  });
}

TEST(TaskGraph, TasksThatRan_TakeNoMemory) {
  if (!HeapMeter::counts) GTEST_SKIP() << "the sanitizer has its own heap";
  expect_runs([](World& world) {
    constexpr int kKeys = 300'000;
    constexpr int kWaiting = 1000;  // at a time
    int ran = 0;
    TaskGraph<std::array<int, 3>> graph(world);
    graph.set_repeating();  // a simulated world remembers tasks that ran
    graph.set_indegree([](const auto& /*key*/) { return 2; })
        .set_task([&](const std::array<int, 3>& key) {
          ++ran;
          const int next = key[0] + kWaiting;
          if (next < kKeys) graph.fulfill({next, 0, 1});
          if (next < kKeys) graph.fulfill({next, 0, 1});
        })
        .set_mapping(kFirstWorker);
    HeapMeter::reset();
    for (int k = 0; k < kWaiting; ++k) graph.fulfill({k, 0, 1});
    for (int k = 0; k < kWaiting; ++k) graph.fulfill({k, 0, 1});
    world.wait();
    EXPECT_EQ(ran, kKeys);
    EXPECT_LT(HeapMeter::growth_bytes(), 500U * kWaiting);
  });
}

}  // namespace graph_task_graph_test
