#pragma once
// Where searches begin.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <vector>

#include "bfs/local_graph.hpp"
#include "bfs/vertex_partition.hpp"

namespace bfs {

/// A random sample of `count` vertices that have an edge to another vertex, none twice; all such
/// vertices if there are fewer. A function of the graph and the seed, not of the number of ranks.
/// Blocks: collective, with the same result on all ranks. Cost: `count` numbers of every rank.
[[nodiscard]] std::vector<Vertex> sample_roots(shoal::World& world, const LocalGraph& graph,
                                               std::uint64_t seed, int count);

}  // namespace bfs
