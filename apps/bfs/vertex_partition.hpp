#pragma once
// Vertices and edges by number, and which rank has which vertices.

#include <shoal/rank.hpp>

#include <algorithm>
#include <bit>
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
        block_(std::max<Vertex>(1, (vertex_count + rank_count - 1) / rank_count)),
        shift_(std::has_single_bit(static_cast<std::uint64_t>(block_))
                   ? std::countr_zero(static_cast<std::uint64_t>(block_))
                   : kNoShift) {}

  [[nodiscard]] Vertex count() const { return count_; }
  [[nodiscard]] bool has(Vertex vertex) const { return vertex >= 0 && vertex < count_; }
  [[nodiscard]] shoal::Rank owner(Vertex vertex) const {
    return shoal::Rank(static_cast<int>(shift_ != kNoShift ? vertex >> shift_ : vertex / block_));
  }
  /// The vertices first(rank) to first(rank) + size(rank) - 1 are those of `rank`.
  [[nodiscard]] Vertex first(shoal::Rank rank) const { return std::min(count_, rank * block_); }
  [[nodiscard]] std::size_t size(shoal::Rank rank) const {
    return static_cast<std::size_t>(std::min(count_, (rank + 1) * block_) - first(rank));
  }
  /// The number of a vertex among those of its owner, from 0.
  [[nodiscard]] std::size_t local(Vertex vertex) const {
    return static_cast<std::size_t>(shift_ != kNoShift ? vertex & (block_ - 1) : vertex % block_);
  }

 private:
  static constexpr int kNoShift = -1;

  Vertex count_;
  Vertex block_;
  int shift_;  // which divides by block_; kNoShift: that is no power of two
};

}  // namespace bfs
