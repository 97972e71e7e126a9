// Inputs that a task may lack, that are many or joined, and that have another type than what was
// sent.

#include "support/turn_world.hpp"

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace graph_inputs_test {

using shoal::Gathered;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::run_seeds;
using testing::HasSubstr;

// A row of parts: those at the ends have one neighbour.
TEST(GraphInputs, OptionalOnes_MayBeMissing) {
  constexpr int kParts = 9;
  run_seeds(60, 3, 2, [](World& world) {
    long sum = 0;
    const auto rank_of = [&](int part) { return Rank(part % world.size()); };
    TaskGraph<int> parts(world, "parts");
    parts.set_rank(rank_of)
        .set_indegree([](int part) { return part == 0 || part == kParts - 1 ? 2 : 3; })
        .set_mapping([](int) { return 0; })
        .set_task([&](int part, std::optional<long> left, std::optional<std::vector<long>> right,
                      long mine) {
          EXPECT_EQ(left.has_value(), part > 0);
          EXPECT_EQ(right.has_value(), part < kParts - 1);
          sum += mine + left.value_or(0) + (right.has_value() ? right->at(0) : 0);
        });
    for (int part = world.rank(); part < kParts; part += world.size()) {
      const long value = 1L << static_cast<unsigned>(part);
      parts.send(part, 2, value);
      if (part + 1 < kParts) parts.send(part + 1, 0, value);
      if (part > 0) parts.send(part - 1, 1, std::vector<long>{value});
    }
    world.wait();
    // each part's value three times, less those beyond the ends
    EXPECT_EQ(world.allreduce(sum, std::plus<>()), 3 * ((1L << kParts) - 1) - 1 - (1L << 8U));
  });
}

TEST(GraphInputs, AnEmptyOptional_CountsAsADependency) {
  run_seeds(60, 2, 2, [](World& world) {
    int ran = 0;
    TaskGraph<int> graph(world, "graph");
    graph.set_rank([](int k) { return k; })
        .set_indegree([](int) { return 2; })
        .set_task([&](int, std::optional<std::string> text, int number) {
          EXPECT_EQ(text, std::nullopt);
          ran += number;
        });
    if (world.rank() == 0) {
      graph.send(1, 0, std::optional<std::string>());
      graph.send(1, 1, std::optional<int>(1));
      graph.send_all(std::vector<int>{0}, 0, std::optional<std::string>());
      graph.send_all(std::vector<int>{0}, 1, std::optional<int>(1));
    }
    world.wait();
    EXPECT_EQ(ran, 1);
  });
}

TEST(GraphInputs, AnOptionalView_RefersToKeptElements) {
  run_seeds(60, 2, 2, [](World& world) {
    double sum = 0;
    TaskGraph<int> graph(world, "graph");
    graph.set_rank([](int k) { return k; })
        .set_indegree([](int) { return 1; })
        .set_task([&](int, std::optional<std::span<const double>> values) {
          for (const double value : values.value()) sum += value;
        });
    if (world.rank() == 0) graph.send(1, 0, std::vector<double>(5000, 0.5));
    world.wait();
    EXPECT_EQ(sum, world.rank() == 1 ? 2500 : 0);
  });
}

TEST(GraphInputs, GatheredOnes_AreAllThatCome) {
  run_seeds(60, 3, 2, [](World& world) {
    std::vector<std::string> names;
    TaskGraph<int> graph(world, "graph");
    graph.set_rank([](int k) { return k; })
        .set_indegree([](int k) { return 2 * (k + 1); })
        .set_task([&](int, Gathered<std::string> all) { names = std::move(all.values); });
    for (int target = 0; target < world.size(); ++target) {
      for (int i = world.rank(); i < 2 * (target + 1); i += world.size()) {
        graph.send(target, 0, "name " + std::to_string(i));
      }
    }
    world.wait();
    std::sort(names.begin(), names.end());
    ASSERT_EQ(names.size(), 2 * static_cast<std::size_t>(world.rank() + 1));
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], "name " + std::to_string(i));
  });
}

// Of values that can only be moved, too.
TEST(GraphInputs, AReduction_JoinsWhatComes) {
  constexpr int kValues = 30;
  run_seeds(60, 3, 2, [](World& world) {
    long sum = 0;
    std::string longest;
    TaskGraph<int> graph(world, "sums");
    graph.set_rank([](int k) { return k; })
        .set_indegree([](int) { return 2 * kValues; })
        .set_task([&](int, long total, const std::string& text) {
          sum = total;
          longest = text;
        })
        .set_reduction(0, [](long a, long b) { return a + b; })
        .set_reduction(1, [](std::string a, std::string b) {
          return a.size() > b.size() ? std::move(a) : std::move(b);
        });
    for (int i = world.rank(); i < kValues; i += world.size()) {
      world.spawn([&graph, i] {
        graph.send(2, 0, 1L << static_cast<unsigned>(i));
        graph.send(2, 1, std::string(static_cast<std::size_t>(i + 1), 'x'));
      });
    }
    world.wait();
    EXPECT_EQ(sum, world.rank() == 2 ? (1L << kValues) - 1 : 0);
    EXPECT_EQ(longest.size(), world.rank() == 2 ? kValues : 0);
  });
}

TEST(GraphInputs, AReductionThatThrows_NamesTheTask) {
  EXPECT_THAT(error_of([](World& world) {
                TaskGraph<int> graph(world, "sums");
                graph.set_indegree([](int) { return 2; })
                    .set_task([](int, long) {})
                    .set_reduction(0, [](long, long) -> long { throw shoal::Error("overflow"); });
                graph.send(4, 0, 1L);
                graph.send(4, 0, 2L);
                world.wait();
              }),
              HasSubstr("overflow"));
}

// One input of the first task has not come, and two of the second one; an optional one may lack.
TEST(GraphInputs, TasksThatWait_AreReportedWithTheInputsThatTheyLack) {
  const std::string error = error_of([](World& world) {
    TaskGraph<int> tiles(world, "tiles");
    tiles.set_indegree([](int) { return 4; })
        .set_task([](int, long, const std::string&, std::optional<long>, double) {});
    if (world.rank() == Rank(0)) {
      tiles.send(7, 0, 1L);
      tiles.send(7, 2, std::optional<long>(2));
      tiles.send(7, 3, 3.0);
      tiles.send(8, 1, std::string("one"));
    }
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("tiles[7] has fulfilled 3 of 4 dependencies: input 1 is missing"));
  EXPECT_THAT(error,
              HasSubstr("tiles[8] has fulfilled 1 of 4 dependencies: inputs 0, 3 are missing"));
}

TEST(GraphInputs, Numbers_AreConvertedWhereNothingIsLost) {
  run_seeds(60, 2, 2, [](World& world) {
    int ran = 0;
    TaskGraph<long> graph(world, "graph");
    graph.set_rank([](long k) { return static_cast<int>(k % 2); })
        .set_task([&](long k, double real, std::uint8_t small, const std::string& text) {
          EXPECT_EQ(real, 7.0);
          EXPECT_EQ(small, 200);
          EXPECT_EQ(text, "seven");
          ran += static_cast<int>(k);
        });
    if (world.rank() == 0) {
      for (const int k : {1, 2}) {
        graph.send(k, 0, 7);
        graph.send(k, 1, 200L);
        graph.send(k, 2, "seven");
      }
      graph.send_all(std::vector<long>{3, 4}, 0, 7.0F);
      graph.send_all(std::vector<long>{3, 4}, 1, 200U);
      graph.send_all(std::vector<long>{3, 4}, 2, std::string("seven"));
    }
    world.wait();
    EXPECT_EQ(ran, world.rank() == 1 ? 4 : 6);
  });
}

TEST(GraphInputs, WithoutAMapping_TasksSpreadOverTheWorkers) {
  std::set<int> workers;
  run_seeds(60, 1, 2, [&workers](World& world) {
    int ran = 0;
    TaskGraph<std::pair<int, int>> graph(world, "graph");
    graph.set_indegree([](auto) { return 1; })
        .set_binding([](auto) { return true; })
        .set_task([&](const std::pair<int, int>&) {
          workers.insert(world.scheduler().count_slot());
          ++ran;
        });
    for (int i = 0; i < 10; ++i) graph.fulfill({i, 1});
    world.wait();
    EXPECT_EQ(ran, 10);
  });
  EXPECT_EQ(workers, (std::set<int>{0, 1}));
}

TEST(GraphInputs, WrongCalls_AreRefusedByName) {
  const auto with_graph = [](auto function, const std::function<void(TaskGraph<int>&)>& use) {
    return error_of([&](World& world) {
      TaskGraph<int> graph(world, "g");
      graph.set_task(function);
      use(graph);
      world.wait();
    });
  };
  const auto takes_long = [](int, long) {};
  const auto takes_small = [](int, std::int8_t, bool) {};
  const auto takes_optional = [](int, std::optional<long>) {};
  const auto takes_all = [](int, const Gathered<long>&) {};
  EXPECT_THAT(with_graph(takes_long, [](auto& graph) { graph.send(0, 0, 1.0); }),
              HasSubstr("send() of double to slot 0: the function of set_task() takes long"));
  EXPECT_THAT(with_graph(takes_small, [](auto& graph) { graph.send(0, 0, 300); }),
              HasSubstr("send() of int 300 to slot 0: the function of set_task() takes"));
  EXPECT_THAT(with_graph(takes_small, [](auto& graph) { graph.send(0, 1, 1); }),
              HasSubstr("send() of int 1 to slot 1: the function of set_task() takes bool"));
  const auto takes_float = [](int, float) {};
  EXPECT_THAT(
      with_graph(takes_float, [](auto& graph) { graph.send(0, 0, (1 << 24) + 1); }),
      HasSubstr("send() of int 16777217 to slot 0: the function of set_task() takes float"));
  EXPECT_THAT(with_graph(takes_float, [](auto& graph) { graph.send(0, 0, 1e300); }),
              HasSubstr("send() of double to slot 0: the function of set_task() takes float"));
  EXPECT_THAT(with_graph(takes_optional, [](auto& graph) { graph.send(0, 0, 1L); }),
              HasSubstr("call set_indegree() before the first fulfill()"));
  EXPECT_THAT(with_graph(takes_all, [](auto& graph) { graph.send(0, 0, 1L); }),
              HasSubstr("call set_indegree() before the first fulfill()"));
  EXPECT_THAT(
      with_graph(takes_optional, [](auto& graph) { graph.send(0, 3, std::optional<long>()); }),
      HasSubstr("slots 0 to 0"));
  EXPECT_THAT(with_graph(takes_optional,
                         [](auto& graph) {
                           graph.set_indegree([](int) { return 2; });
                           graph.send(0, 0, 1L);
                           graph.send(0, 0, 2L);
                         }),
              HasSubstr("g[0] has its input of slot 0 already"));
  const auto adds = [](long a, long b) { return a + b; };
  EXPECT_THAT(with_graph(takes_all, [&](auto& graph) { graph.set_reduction(0, adds); }),
              HasSubstr("set_reduction() of slot 0, whose values are Gathered"));
  EXPECT_THAT(with_graph(takes_long,
                         [&](auto& graph) {
                           graph.set_reduction(0, adds);
                           graph.send(0, 0, 1L);
                         }),
              HasSubstr("call set_indegree() before the first fulfill()"));
  EXPECT_THAT(error_of([&](World& world) {
                TaskGraph<int> graph(world, "g");
                graph.set_reduction(0, adds);
              }),
              HasSubstr("set_reduction() of slot 0: call set_task() first"));
  EXPECT_THAT(with_graph(takes_long, [&](auto& graph) { graph.set_reduction(1, adds); }),
              HasSubstr("slots 0 to 0"));
  EXPECT_THAT(with_graph(takes_small, [&](auto& graph) { graph.set_reduction(1, adds); }),
              HasSubstr("takes bool"));
}

}  // namespace graph_inputs_test
