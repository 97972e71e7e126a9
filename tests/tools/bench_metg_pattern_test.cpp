// Dependencies in the graphs of bench/metg, and whether a wrong order of tasks is noticed.

#include "metg/pattern.hpp"
#include "metg/side.hpp"
#include "metg/work.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace bench_metg_pattern_test {

using metg::Graph;
using metg::Kernel;
using metg::Pattern;
using metg::Shape;
using metg::Work;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kSteps = 20;

Graph graph_of(Pattern pattern, int width, int radix = 3) {
  return Graph({.pattern = pattern, .steps = kSteps, .width = width, .radix = radix});
}

template <class Visit>
void for_all_graphs(const Visit& visit) {
  for (const std::string& name : metg::pattern_names()) {
    for (const int width : {1, 2, 3, 4, 7, 8, 16}) {
      for (const int radix : {1, 2, 3, 5}) {
        SCOPED_TRACE(testing::Message() << name << ", width " << width << ", radix " << radix);
        visit(graph_of(metg::pattern_of(name), width, radix));
      }
    }
  }
}

template <class Visit>
void for_all_tasks(const Graph& graph, const Visit& visit) {
  for (int step = 0; step < graph.steps(); ++step) {
    for (int column = 0; column < graph.width_at(step); ++column) visit(step, column);
  }
}

using Edges = std::set<std::tuple<int, int, int>>;  // step and column that is waited for; column

TEST(MetgPattern, DependantsAreTheInverseOfDependencies) {
  for_all_graphs([](const Graph& graph) {
    Edges forward;
    Edges backward;
    for_all_tasks(graph, [&](int step, int column) {
      for (const int from : graph.dependencies(step, column))
        backward.emplace(step - 1, from, column);
      for (const int to : graph.dependants(step, column)) forward.emplace(step, column, to);
    });
    EXPECT_EQ(forward, backward);
  });
}

TEST(MetgPattern, DependenciesAreTasksInAscendingOrder) {
  for_all_graphs([](const Graph& graph) {
    for_all_tasks(graph, [&](int step, int column) {
      const auto from = graph.dependencies(step, column);
      EXPECT_TRUE(std::ranges::is_sorted(from, std::ranges::less_equal())) << "none twice";
      for (const int one : from) {
        EXPECT_GE(one, 0);
        EXPECT_LT(one, graph.width_at(step - 1));
      }
    });
  });
}

TEST(MetgPattern, OnlyTheFirstStepAndTrivialDependOnNothing) {
  for_all_graphs([](const Graph& graph) {
    const bool trivial = graph.dependencies(kSteps - 1, 0).empty();
    for_all_tasks(graph, [&](int step, int column) {
      EXPECT_EQ(graph.dependencies(step, column).empty(), step == 0 || trivial);
    });
  });
}

TEST(MetgPattern, EachPattern_AsItIsDefined) {
  EXPECT_THAT(graph_of(Pattern::trivial, 4).dependencies(1, 2), IsEmpty());
  EXPECT_THAT(graph_of(Pattern::stencil, 4).dependencies(1, 0), ElementsAre(0, 1));
  EXPECT_THAT(graph_of(Pattern::stencil, 4).dependencies(1, 2), ElementsAre(1, 2, 3));
  EXPECT_THAT(graph_of(Pattern::stencil_periodic, 4).dependencies(1, 0), ElementsAre(0, 1, 3));
  EXPECT_THAT(graph_of(Pattern::stencil_periodic, 2).dependencies(1, 0), ElementsAre(0, 1));
  EXPECT_THAT(graph_of(Pattern::nearest, 8, 4).dependencies(1, 4), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(graph_of(Pattern::all_to_all, 3).dependencies(1, 1), ElementsAre(0, 1, 2));
}

TEST(MetgPattern, Fft_DistancesDoubleFromStepToStep) {
  const Graph graph = graph_of(Pattern::fft, 8);
  EXPECT_THAT(graph.dependencies(3, 3), ElementsAre(2, 3, 4));
  EXPECT_THAT(graph.dependencies(4, 3), ElementsAre(1, 3, 5));
  EXPECT_THAT(graph.dependencies(5, 3), ElementsAre(3, 7));
  EXPECT_THAT(graph.dependencies(6, 3), ElementsAre(2, 3, 4));
}

TEST(MetgPattern, Spread_DependsOnOtherColumnsInEachStep) {
  const Graph graph = graph_of(Pattern::spread, 8, 2);
  EXPECT_THAT(graph.dependencies(1, 0), ElementsAre(0, 5));
  EXPECT_THAT(graph.dependencies(2, 0), ElementsAre(0, 6));
  EXPECT_THAT(graph.dependencies(4, 0), ElementsAre(0));
}

TEST(MetgPattern, Tree_DoublesUntilItIsWideEnough) {
  const Graph graph = graph_of(Pattern::tree, 6);
  EXPECT_EQ(graph.width_at(0), 1);
  EXPECT_EQ(graph.width_at(2), 4);
  EXPECT_EQ(graph.width_at(3), 6);
  EXPECT_EQ(graph.task_count(), 1 + 2 + 4 + 6 * (kSteps - 3));
  EXPECT_THAT(graph.dependencies(5, 5), ElementsAre(2));
  EXPECT_THAT(graph.dependants(5, 1), ElementsAre(2, 3));
  EXPECT_THAT(graph.dependants(5, 4), IsEmpty());
}

TEST(MetgPattern, Random_IsTheSameForTheSameSeedOnly) {
  const auto edges = [](std::uint64_t seed) {
    const Graph graph(
        {.pattern = Pattern::random, .steps = kSteps, .width = 16, .radix = 9, .seed = seed});
    Edges all;
    for_all_tasks(graph, [&](int step, int column) {
      for (const int from : graph.dependencies(step, column)) all.emplace(step, from, column);
    });
    return all;
  };
  EXPECT_EQ(edges(1), edges(1));
  EXPECT_NE(edges(1), edges(2));
}

TEST(MetgPattern, AnUnknownNameAndAnEmptyGraph_AreRefused) {
  EXPECT_THROW(static_cast<void>(metg::pattern_of("ring")), std::invalid_argument);
  EXPECT_THROW(Graph({.steps = 0}), std::invalid_argument);
}

TEST(MetgShare, EveryColumnHasOneOwner) {
  for (const int width : {1, 2, 3, 7, 16}) {
    for (const int count : {1, 2, 3, 4}) {
      for (int column = 0; column < width; ++column) {
        const int owner = metg::owner_of(width, count, column);
        EXPECT_TRUE(metg::share_of(width, count, owner).contains(column))
            << column << " of " << width << " among " << count;
      }
    }
  }
}

class MetgWork : public testing::TestWithParam<Kernel::Bound> {
 protected:
  const Graph graph_ = graph_of(Pattern::stencil, 4);
  const Kernel kernel_{GetParam(), 4, 4096};
  Work work_{graph_, kernel_};

  void run_all() {
    for_all_tasks(graph_, [this](int step, int column) { work_.run_task(step, column); });
  }
};

TEST_P(MetgWork, InOrder_IsRight) {
  work_.start(100);
  run_all();
  EXPECT_TRUE(work_.is_right({0, 4}));
}

TEST_P(MetgWork, ATaskBeforeOneThatItDependsOn_IsWrong) {
  work_.start(1);
  for_all_tasks(graph_, [this](int step, int column) {
    if (step != 7 || column != 2) work_.run_task(step, column);
  });
  work_.run_task(7, 2);
  EXPECT_FALSE(work_.is_right({0, 4}));
}

TEST_P(MetgWork, TheValuesOfTheRunBefore_DoNotCount) {
  work_.start(1);
  run_all();
  work_.start(1);
  EXPECT_FALSE(work_.is_right({0, 1}));
}

INSTANTIATE_TEST_SUITE_P(Kernels, MetgWork,
                         testing::Values(Kernel::Bound::compute, Kernel::Bound::memory));

}  // namespace bench_metg_pattern_test
