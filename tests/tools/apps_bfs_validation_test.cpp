// Searches against a naive one, and the checks of their trees: each kind of wrong tree is refused.

#include "bfs/graph_builder.hpp"
#include "bfs/kronecker.hpp"
#include "bfs/reach.hpp"
#include "bfs/search.hpp"
#include "bfs/validation.hpp"

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace apps_bfs_validation_test {

using bfs::Edge;
using bfs::Fault;
using bfs::kNone;
using bfs::LocalGraph;
using bfs::SearchContext;
using bfs::Tree;
using bfs::Verdict;
using bfs::Vertex;
using bfs::VertexPartition;
using shoal::World;
using shoal::testing::run_world;
using testing::HasSubstr;
using testing::IsEmpty;

/// Rank 0 gives all edges.
LocalGraph build(World& world, const VertexPartition& partition, const std::vector<Edge>& edges) {
  bfs::GraphBuilder builder(world, partition);
  const auto count = world.rank() == 0 ? static_cast<std::int64_t>(edges.size()) : 0;
  return builder.build({0, count},
                       [&](std::int64_t index) { return edges[static_cast<std::size_t>(index)]; });
}

// 0 - 1 - 2 - 3 - 4 - 5 - 0 is a ring, 6 hangs on 0, with a loop; 7 - 8 is apart, 9 alone.
const std::vector<Edge> edges_of_ring = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5},
                                         {5, 0}, {0, 6}, {6, 6}, {7, 8}};
constexpr Vertex kRingSize = 10;

/// The whole tree from the root 0.
Tree ring_tree() {
  return {.parent = {0, 0, 1, 2, 5, 0, 0, kNone, kNone, kNone},
          .level = {0, 1, 2, 3, 2, 1, 1, kNone, kNone, kNone}};
}

/// Verdict on a tree of the ring, with each rank having its part of it.
Verdict verdict_on(const Tree& tree, int ranks) {
  Verdict result;
  EXPECT_EQ(run_world(ranks, 1,
                      [&](World& world) {
                        const VertexPartition partition(kRingSize, world.size());
                        const LocalGraph graph = build(world, partition, edges_of_ring);
                        const auto begin = static_cast<std::ptrdiff_t>(graph.first());
                        const auto end = begin + static_cast<std::ptrdiff_t>(graph.size());
                        const Tree own{{tree.parent.begin() + begin, tree.parent.begin() + end},
                                       {tree.level.begin() + begin, tree.level.begin() + end}};
                        bfs::Validator validator({world, partition, graph});
                        const Verdict verdict = validator.check(0, own);
                        if (world.rank() == 0) result = verdict;
                        return 0;
                      }),
            0);
  return result;
}

/// Breaks the tree of the ring; returns the verdict, which is the same on 1, 3 and 13 ranks.
Verdict verdict_on_broken(const std::function<void(Tree&)>& wreck) {
  Tree tree = ring_tree();
  wreck(tree);
  const Verdict alone = verdict_on(tree, 1);
  for (const int ranks : {3, 13}) {
    const Verdict verdict = verdict_on(tree, ranks);
    EXPECT_EQ(verdict.counts, alone.counts);
    EXPECT_EQ(describe(verdict), describe(alone));
  }
  return alone;
}

TEST(BfsValidation, OfARightTree_FindsNothing) {
  const Verdict verdict = verdict_on_broken([](Tree&) {});
  EXPECT_TRUE(verdict.good());
  EXPECT_THAT(describe(verdict), IsEmpty());
}

// 3 and 4 are each other's parents, with levels that fit neither.
TEST(BfsValidation, OfATreeWithACycle_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) {
    tree.parent[3] = 4;
    tree.parent[4] = 3;
  });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{2, 0, 0, 0, 0}));
  EXPECT_THAT(describe(verdict), HasSubstr("do not lead to the root: 2 times, at vertex 3"));
}

TEST(BfsValidation, OfAVertexThatIsItsOwnParent_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) { tree.parent[3] = 3; });
  EXPECT_EQ(verdict.count(Fault::cycle), 1);
}

TEST(BfsValidation, OfARootWithAParent_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) { tree.parent[0] = 1; });
  EXPECT_EQ(verdict.count(Fault::cycle), 1);
}

// The way around the ring is longer for 4: a tree, but 4 is not one below its parent then.
TEST(BfsValidation, OfATreeEdgeAcrossTwoLevels_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) { tree.parent[4] = 3; });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{0, 1, 0, 0, 0}));
  EXPECT_THAT(describe(verdict), HasSubstr("one level below the parent: 1 times, at vertex 4"));
}

TEST(BfsValidation, OfARootThatIsNotAtLevelZero_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) {
    for (int& level : tree.level) level += level == kNone ? 0 : 1;
  });
  EXPECT_EQ(verdict.count(Fault::tree_level), 7);
}

TEST(BfsValidation, OfALevelWithoutAParent_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) { tree.level[9] = 2; });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{0, 1, 0, 0, 0}));
}

// A depth-first search: every vertex of the ring one below the one before. Only the edge 5 - 0
// tells.
TEST(BfsValidation, OfATreeThatIsNotBreadthFirst_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) {
    tree.parent = {0, 0, 1, 2, 3, 4, 0, kNone, kNone, kNone};
    tree.level = {0, 1, 2, 3, 4, 5, 1, kNone, kNone, kNone};
  });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{0, 0, 1, 0, 0}));
  EXPECT_THAT(describe(verdict), HasSubstr("more than one level from a neighbour: 1 times"));
}

TEST(BfsValidation, OfAVertexThatWasForgotten_RefusesTheTree) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) {
    tree.parent[6] = kNone;
    tree.level[6] = kNone;
  });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{0, 0, 0, 1, 0}));
  EXPECT_THAT(describe(verdict), HasSubstr("unlike a neighbour: 1 times, at vertex 6"));
}

TEST(BfsValidation, OfAnEmptyTree_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) {
    tree.parent.assign(kRingSize, kNone);
    tree.level.assign(kRingSize, kNone);
  });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{0, 0, 0, 1, 0}));
}

// The levels are right, but 4 has no edge to 1.
TEST(BfsValidation, OfAParentWithoutAnEdge_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) { tree.parent[4] = 1; });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{0, 0, 0, 0, 1}));
  EXPECT_THAT(describe(verdict), HasSubstr("no edge to the parent: 1 times, at vertex 4"));
}

TEST(BfsValidation, OfAnotherComponentInTheTree_RefusesIt) {
  const Verdict verdict = verdict_on_broken([](Tree& tree) {
    tree.parent[7] = 6;
    tree.parent[8] = 7;
    tree.level[7] = 2;
    tree.level[8] = 3;
  });
  EXPECT_EQ(verdict.counts, (std::array<std::int64_t, 5>{0, 0, 0, 0, 1}));
}

TEST(BfsValidation, OfAParentThatIsNoVertex_RefusesIt) {
  for (const Vertex parent : {Vertex{-7}, kRingSize, Vertex{1} << 40}) {
    const Verdict verdict = verdict_on_broken([&](Tree& tree) { tree.parent[3] = parent; });
    EXPECT_EQ(verdict.count(Fault::no_edge), 1);
    EXPECT_EQ(verdict.count(Fault::cycle), 1);
  }
}

/// Levels by going over all edges until nothing changes.
std::vector<int> naive_levels(Vertex size, const std::vector<Edge>& edges, Vertex root) {
  std::vector<int> level(static_cast<std::size_t>(size), kNone);
  level[static_cast<std::size_t>(root)] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    const auto shorten = [&](Vertex from, Vertex to) {
      const int before = level[static_cast<std::size_t>(from)];
      int& after = level[static_cast<std::size_t>(to)];
      if (before == kNone || (after != kNone && after <= before + 1)) return;
      after = before + 1;
      changed = true;
    };
    for (const Edge& edge : edges) {
      shorten(edge.a, edge.b);
      shorten(edge.b, edge.a);
    }
  }
  return level;
}

/// One search of every variant from every root has the right levels, and its tree is good.
void expect_right_searches(Vertex size, const std::vector<Edge>& edges, int ranks, int workers) {
  EXPECT_EQ(run_world(ranks, workers,
                      [&](World& world) {
                        const VertexPartition partition(size, world.size());
                        const LocalGraph graph = build(world, partition, edges);
                        const SearchContext context{world, partition, graph};
                        bfs::Validator validator(context);
                        for (const std::string& variant : bfs::search_variants()) {
                          const auto search = bfs::make_search(variant, context);
                          for (Vertex root = 0; root < size; root += 1 + size / 10) {
                            search->prepare();
                            search->run(root);
                            const std::vector<int> expected = naive_levels(size, edges, root);
                            for (std::size_t i = 0; i < graph.size(); ++i) {
                              EXPECT_EQ(search->tree().level[i],
                                        expected[static_cast<std::size_t>(graph.first()) + i]);
                            }
                            EXPECT_EQ(describe(validator.check(root, search->tree())), "")
                                << variant;
                          }
                        }
                        return 0;
                      }),
            0);
}

TEST(BfsSearch, EveryVariant_FindsTheLevelsOfANaiveSearch) {
  const bfs::Kronecker generator(7, 2, 1);
  std::vector<Edge> edges;
  for (std::int64_t i = 0; i < generator.edge_count(); ++i) edges.push_back(generator.edge(i));
  for (const int ranks : {1, 2, 5}) {
    for (const int workers : {1, 2, 8}) {
      expect_right_searches(generator.vertex_count(), edges, ranks, workers);
    }
  }
}

TEST(BfsSearch, EveryVariant_WorksWithMoreRanksThanVertices) {
  expect_right_searches(3, {{0, 1}, {1, 2}}, 7, 2);
  expect_right_searches(1, {{0, 0}}, 4, 1);
}

TEST(BfsSearch, AlongAPath_ReachesItsEnd) {
  std::vector<Edge> path;
  for (Vertex vertex = 0; vertex + 1 < 60; ++vertex) path.push_back({vertex, vertex + 1});
  expect_right_searches(60, path, 3, 1);
}

TEST(BfsReach, CountsRepeatedEdgesAndLoopsOfTheComponentOnly) {
  EXPECT_EQ(run_world(3, 1,
                      [&](World& world) {
                        std::vector<Edge> edges = edges_of_ring;
                        edges.push_back({0, 1});
                        edges.push_back({9, 9});
                        const VertexPartition partition(kRingSize, world.size());
                        const LocalGraph graph = build(world, partition, edges);
                        const SearchContext context{world, partition, graph};
                        const auto search = bfs::make_search("level_am", context);
                        search->prepare();
                        search->run(2);
                        const bfs::Reach reach = bfs::reach_of(context, 2, search->tree());
                        EXPECT_EQ(reach.vertices, 7);
                        EXPECT_EQ(reach.edges,
                                  9);  // the ring, one of it twice, 0 - 6, and the loop
                        EXPECT_EQ(reach.depth, 3);
                        return 0;
                      }),
            0);
}

}  // namespace apps_bfs_validation_test
