#pragma once
// The part of a graph that one rank has: its own vertices with all their neighbours.

#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bfs/vertex_partition.hpp"

namespace bfs {

/// Compressed rows of the own vertices. An edge that was given more than once is kept as often; a
/// self-loop is no neighbour, but counted.
class LocalGraph {
 public:
  /// The `at` of each arc is a vertex of `rank`.
  LocalGraph(const VertexPartition& partition, shoal::Rank rank, std::span<const Arc> arcs);

  /// The own vertices are first() to first() + size() - 1.
  [[nodiscard]] Vertex first() const { return first_; }
  [[nodiscard]] std::size_t size() const { return loops_.size(); }

  [[nodiscard]] bool owns(Vertex vertex) const {
    return vertex >= first_ && vertex - first_ < static_cast<Vertex>(size());
  }
  /// The number of an own vertex, from 0.
  [[nodiscard]] std::size_t index(Vertex vertex) const {
    return static_cast<std::size_t>(vertex - first_);
  }

  /// Sorted. `vertex` is an own one.
  [[nodiscard]] std::span<const Vertex> neighbours(Vertex vertex) const {
    const std::size_t row = index(vertex);
    return std::span(columns_).subspan(begins_[row], begins_[row + 1] - begins_[row]);
  }
  /// Prefetches the fields that neighbours() reads, and then the first neighbours: in this order,
  /// each a few vertices ahead.
  void prefetch_row(Vertex vertex) const { __builtin_prefetch(&begins_[index(vertex)]); }
  void prefetch_neighbours(Vertex vertex) const {
    constexpr std::size_t kPerLine = 64 / sizeof(Vertex);
    const std::span<const Vertex> all = neighbours(vertex);
    __builtin_prefetch(all.data());
    if (all.size() > kPerLine) __builtin_prefetch(&all[kPerLine]);
  }
  /// How many self-loops were given at an own vertex.
  [[nodiscard]] std::int64_t loops(Vertex vertex) const { return loops_[index(vertex)]; }

 private:
  Vertex first_;
  std::vector<std::size_t> begins_;  // of each row in columns_, and the end of the last
  std::vector<Vertex> columns_;
  std::vector<std::int64_t> loops_;
};

}  // namespace bfs
