#include "bfs/reach.hpp"

#include <algorithm>
#include <cstddef>

#include "common/random_matrix.hpp"

namespace bfs {
namespace {

Reach merge(const Reach& a, const Reach& b) {
  return {a.vertices + b.vertices, a.edges + b.edges, std::max(a.depth, b.depth),
          a.checksum + b.checksum};
}

}  // namespace

Reach reach_of(const SearchContext& context, Vertex root, const Tree& tree) {
  const std::uint64_t salt = apps::mix_bits(static_cast<std::uint64_t>(root));
  Reach own;
  for (std::size_t index = 0; index < tree.level.size(); ++index) {
    const int level = tree.level[index];
    if (level == kNone) continue;
    const Vertex vertex = context.graph.first() + static_cast<Vertex>(index);
    ++own.vertices;
    // Counted at both ends for now, as every other edge.
    own.edges += static_cast<std::int64_t>(context.graph.neighbours(vertex).size()) +
                 2 * context.graph.loops(vertex);
    own.depth = std::max(own.depth, level);
    own.checksum += apps::mix_bits(apps::mix_bits(salt ^ static_cast<std::uint64_t>(vertex)) ^
                                   static_cast<std::uint64_t>(level));
  }
  Reach all = context.world.allreduce(own, merge);
  all.edges /= 2;
  return all;
}

}  // namespace bfs
