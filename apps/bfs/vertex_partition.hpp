#pragma once
// Vertices and edges by number, and which rank has which vertices.

#include <shoal/base/ids.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bfs {

/// 0 <= vertex < number of vertices.
using Vertex = std::int64_t;

/// One direction of an edge, as the owner of `at` sees it.
struct Arc {
  Vertex at;
  Vertex other;
};

/// Blocks of consecutive vertices, all of the same size but the last. There may be fewer vertices
/// than ranks: the last ranks have none.
class VertexPartition {
 public:
  /// vertex_count >= 0, rank_count >= 1.
  VertexPartition(Vertex vertex_count, int rank_count)
      : count_(vertex_count),
        block_(std::max<Vertex>(1, (vertex_count + rank_count - 1) / rank_count)) {}

  [[nodiscard]] Vertex count() const { return count_; }
  [[nodiscard]] bool has(Vertex vertex) const { return vertex >= 0 && vertex < count_; }
  [[nodiscard]] shoal::Rank owner(Vertex vertex) const {
    return shoal::Rank(static_cast<int>(vertex / block_));
  }
  /// The vertices first(rank) to first(rank) + size(rank) - 1 are those of `rank`.
  [[nodiscard]] Vertex first(shoal::Rank rank) const { return std::min(count_, rank * block_); }
  [[nodiscard]] std::size_t size(shoal::Rank rank) const {
    return static_cast<std::size_t>(std::min(count_, (rank + 1) * block_) - first(rank));
  }
  /// The number of a vertex among those of its owner, from 0.
  [[nodiscard]] std::size_t local(Vertex vertex) const {
    return static_cast<std::size_t>(vertex % block_);
  }

 private:
  Vertex count_;
  Vertex block_;
};

}  // namespace bfs
