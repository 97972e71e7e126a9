#pragma once
// Least weight of an edge at each vertex (STAPL-RTS thesis, 7.11.7).

#include <shoal/object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hub_bfs/placement.hpp"

namespace hub_bfs {

/// Each owner asks the ranks that keep edges of a vertex: a reduction for each vertex, on one rank
/// for most, on several for hubs.
class LightestEdges : public shoal::DistributedObject<LightestEdges> {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  LightestEdges(shoal::Team& team, const RandomGraph& graph, const Placement& placement)
      : DistributedObject(team),
        placement_(placement),
        edges_(placement.edges_of(graph, team.rank())),
        least_(placement.vertices().count(team.rank()), kNone) {}

  void offer(std::uint64_t vertex, std::uint32_t weight) {
    std::uint32_t& own = least_[placement_.vertices().place(vertex)];
    own = std::min(own, weight);
  }
  void search(std::uint64_t vertex) {
    std::uint32_t least = kNone;
    for (const EdgeEnd& end : edges_[vertex]) least = std::min(least, end.weight);
    async<&LightestEdges::offer>(placement_.vertices().owner(vertex), vertex, least);
  }
  void run() {
    for (std::size_t i = 0; i < least_.size(); ++i) {
      const std::uint64_t vertex = placement_.vertices().index(rank(), i);
      placement_.for_each_holder(
          vertex, [&](Rank holder) { async<&LightestEdges::search>(holder, vertex); });
    }
    fence();
  }
  /// Compares with the result of one rank alone.
  [[nodiscard]] bool is_right(const RandomGraph& graph) const {
    std::vector<std::uint32_t> right(graph.vertex_count(), kNone);
    std::size_t edge = 0;
    graph.for_each_edge([&](std::size_t a, std::size_t b) {
      right[a] = std::min(right[a], weight_of(edge));
      right[b] = std::min(right[b], weight_of(edge));
      ++edge;
    });
    for (std::size_t i = 0; i < least_.size(); ++i) {
      if (least_[i] != right[placement_.vertices().index(rank(), i)]) return false;
    }
    return true;
  }

 private:
  const Placement& placement_;
  EdgeLists edges_;
  std::vector<std::uint32_t> least_;
};

}  // namespace hub_bfs
