// The generator of random graphs, and how it is divided among ranks.

#include "bfs/graph_builder.hpp"
#include "bfs/kronecker.hpp"
#include "bfs/local_graph.hpp"
#include "bfs/roots.hpp"

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace apps_bfs_kronecker_test {

using bfs::Arc;
using bfs::Edge;
using bfs::Kronecker;
using bfs::LocalGraph;
using bfs::Scramble;
using bfs::Vertex;
using bfs::VertexPartition;
using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;
using testing::ElementsAre;

/// All neighbours of all vertices, as the ranks of a world have them, and the roots.
struct Distributed {
  std::vector<std::vector<Vertex>> neighbours;
  std::int64_t loops = 0;
  std::vector<Vertex> roots;
};

Distributed build(const Kronecker& generator, int ranks, int workers, int root_count) {
  Distributed result;
  result.neighbours.resize(static_cast<std::size_t>(generator.vertex_count()));
  std::mutex mutex;
  EXPECT_EQ(run_world(ranks, workers,
                      [&](World& world) {
                        const VertexPartition partition(generator.vertex_count(), world.size());
                        bfs::GraphBuilder builder(world, partition);
                        const auto own =
                            bfs::share_of(generator.edge_count(), world.rank(), world.size());
                        const LocalGraph graph = builder.build(
                            own, [&](std::int64_t index) { return generator.edge(index); });
                        const auto roots = bfs::sample_roots(world, graph, 7, root_count);
                        const std::lock_guard lock(mutex);
                        for (std::size_t i = 0; i < graph.size(); ++i) {
                          const Vertex vertex = graph.first() + static_cast<Vertex>(i);
                          const auto row = graph.neighbours(vertex);
                          result.neighbours[static_cast<std::size_t>(vertex)].assign(row.begin(),
                                                                                     row.end());
                          result.loops += graph.loops(vertex);
                        }
                        if (result.roots.empty()) result.roots = roots;
                        EXPECT_EQ(result.roots, roots);
                        return 0;
                      }),
            0);
  return result;
}

TEST(BfsScramble, IsABijectionOfEverySize) {
  for (int bits = 0; bits <= 12; ++bits) {
    for (const std::uint64_t seed : {0U, 1U, 99U}) {
      const Scramble scramble(bits, seed);
      std::set<Vertex> images;
      for (Vertex vertex = 0; vertex < Vertex{1} << bits; ++vertex) {
        images.insert(scramble(vertex));
      }
      EXPECT_EQ(images.size(), std::size_t{1} << bits);
      EXPECT_EQ(*images.begin(), 0);
      EXPECT_EQ(*images.rbegin(), (Vertex{1} << bits) - 1);
    }
  }
}

TEST(BfsScramble, MovesVerticesFarAndDependsOnTheSeed) {
  constexpr int bits = 16;
  const Scramble one(bits, 1);
  const Scramble other(bits, 2);
  int same = 0;
  int halves = 0;  // neighbouring numbers that land in the same half
  for (Vertex vertex = 0; vertex < 1000; ++vertex) {
    same += one(vertex) == other(vertex) ? 1 : 0;
    halves += one(vertex) >> (bits - 1) == one(vertex + 1) >> (bits - 1) ? 1 : 0;
  }
  EXPECT_LT(same, 10);
  EXPECT_GT(halves, 350);
  EXPECT_LT(halves, 650);
}

// Probabilities of each bit of the two ends: A = 0.57 for (0, 0), B = C = 0.19 for (0, 1) and (1,
// 0).
TEST(BfsKronecker, PlainEdges_HaveTheProbabilitiesOfTheSpecificationInEveryBit) {
  constexpr int scale = 10;
  const Kronecker generator(scale, 64, 5);
  for (int bit = 0; bit < scale; ++bit) {
    std::array<double, 4> shares{};
    for (std::int64_t index = 0; index < generator.edge_count(); ++index) {
      const Edge edge = generator.plain_edge(index);
      shares[static_cast<std::size_t>(2 * (edge.a >> bit & 1) + (edge.b >> bit & 1))] += 1;
    }
    for (double& share : shares) share /= static_cast<double>(generator.edge_count());
    constexpr double tolerance = 0.01;  // five standard deviations of 65536 edges
    EXPECT_NEAR(shares[0], 0.57, tolerance);
    EXPECT_NEAR(shares[1], 0.19, tolerance);
    EXPECT_NEAR(shares[2], 0.19, tolerance);
    EXPECT_NEAR(shares[3], 0.05, tolerance);
  }
}

TEST(BfsKronecker, Edges_AreThePlainOnesUnderOneBijectionAndDependOnTheSeed) {
  const Kronecker generator(8, 16, 5);
  const Kronecker other(8, 16, 6);
  std::vector<Vertex> image(256, -1);
  int same = 0;
  for (std::int64_t index = 0; index < generator.edge_count(); ++index) {
    const Edge plain = generator.plain_edge(index);
    const Edge edge = generator.edge(index);
    for (const auto& [from, to] : {std::pair(plain.a, edge.a), std::pair(plain.b, edge.b)}) {
      Vertex& known = image[static_cast<std::size_t>(from)];
      EXPECT_TRUE(known == -1 || known == to);
      known = to;
    }
    const Edge different = other.edge(index);
    same += edge.a == different.a && edge.b == different.b ? 1 : 0;
  }
  EXPECT_LT(same, generator.edge_count() / 100);
}

TEST(BfsKronecker, Graph_HasAllEdgesTwiceWhateverTheRanksAndWorkers) {
  const Kronecker generator(7, 16, 3);
  const Distributed alone = build(generator, 1, 1, 10);
  std::int64_t degrees = 0;
  std::vector<std::vector<Vertex>> expected(128);
  std::int64_t loops = 0;
  for (const auto& row : alone.neighbours) degrees += static_cast<std::int64_t>(row.size());
  for (std::int64_t index = 0; index < generator.edge_count(); ++index) {
    const auto [a, b] = generator.edge(index);
    if (a == b) {
      ++loops;
      continue;
    }
    expected[static_cast<std::size_t>(a)].push_back(b);
    expected[static_cast<std::size_t>(b)].push_back(a);
  }
  for (auto& row : expected) std::ranges::sort(row);
  EXPECT_EQ(alone.neighbours, expected);
  EXPECT_EQ(alone.loops, loops);
  EXPECT_EQ(degrees, 2 * (generator.edge_count() - loops));
  for (const auto& [ranks, workers] : {std::pair(2, 1), std::pair(3, 2), std::pair(8, 1)}) {
    const Distributed many = build(generator, ranks, workers, 10);
    EXPECT_EQ(many.neighbours, alone.neighbours);
    EXPECT_EQ(many.loops, alone.loops);
    EXPECT_EQ(many.roots, alone.roots);
  }
}

TEST(BfsRoots, AreDistinctAndHaveAnEdge) {
  const Kronecker generator(6, 1, 4);
  const Distributed graph = build(generator, 5, 1, 1000);
  const std::set<Vertex> roots(graph.roots.begin(), graph.roots.end());
  EXPECT_EQ(roots.size(), graph.roots.size());
  for (Vertex vertex = 0; vertex < generator.vertex_count(); ++vertex) {
    const bool isolated = graph.neighbours[static_cast<std::size_t>(vertex)].empty();
    EXPECT_EQ(roots.contains(vertex), !isolated);
  }
  const auto few = build(generator, 3, 1, 4).roots;
  EXPECT_EQ(few, std::vector<Vertex>(graph.roots.begin(), graph.roots.begin() + 4));
}

TEST(BfsShare, PartsAreInOrderAndNearlyEqual) {
  for (const std::int64_t count : {0, 1, 7, 100}) {
    for (const int parts : {1, 3, 8}) {
      std::int64_t end = 0;
      for (int index = 0; index < parts; ++index) {
        const auto share = bfs::share_of(count, index, parts);
        EXPECT_EQ(share.begin, end);
        EXPECT_LE(share.end - share.begin, count / parts + 1);
        EXPECT_GE(share.end - share.begin, count / parts);
        end = share.end;
      }
      EXPECT_EQ(end, count);
    }
  }
}

TEST(BfsPartition, EveryVertexHasOneOwnerAlsoWithMoreRanksThanVertices) {
  for (const Vertex count : {0, 1, 3, 9, 100}) {
    for (const int ranks : {1, 2, 8, 13}) {
      const VertexPartition partition(count, ranks);
      Vertex next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(partition.first(Rank(rank)), next);
        for (std::size_t local = 0; local < partition.size(Rank(rank)); ++local, ++next) {
          EXPECT_EQ(partition.owner(next), Rank(rank));
          EXPECT_EQ(partition.local(next), local);
        }
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(BfsLocalGraph, KeepsRepeatedEdgesAndCountsLoops) {
  const VertexPartition partition(6, 2);
  const LocalGraph graph(partition, Rank(1), std::vector<Arc>{{5, 2}, {3, 3}, {5, 0}, {5, 2}});
  EXPECT_EQ(graph.first(), 3);
  EXPECT_EQ(graph.size(), 3U);
  EXPECT_THAT(graph.neighbours(5), ElementsAre(0, 2, 2));
  EXPECT_TRUE(graph.neighbours(3).empty());
  EXPECT_EQ(graph.loops(3), 1);
  EXPECT_EQ(graph.loops(5), 0);
}

}  // namespace apps_bfs_kronecker_test
