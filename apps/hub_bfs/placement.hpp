#pragma once
// Placement of the edges of a graph with hubs on ranks.

#include <shoal/object.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "common/random_graph.hpp"

namespace hub_bfs {

using apps::RandomGraph;
using shoal::Rank;

/// Ranks that keep the edges of hubs: the owner, all, those of their neighbours, every k-th.
enum class Strategy : std::uint8_t { flat, everywhere, neighbors, striped };

/// End of an edge at a vertex.
struct EdgeEnd {
  std::size_t to;
  std::uint32_t weight;
};
/// By vertex.
using EdgeLists = std::unordered_map<std::size_t, std::vector<EdgeEnd>>;

/// Weight of an edge.
[[nodiscard]] std::uint32_t weight_of(std::size_t edge);

/// Where the edges of each vertex lie: at its owner, except hubs as the strategy says.
class Placement {
 public:
  Placement(const RandomGraph& graph, int ranks, std::size_t hubs, Strategy strategy, int stride);

  [[nodiscard]] const shoal::Distribution& vertices() const { return vertices_; }
  /// Edges that a rank keeps.
  [[nodiscard]] EdgeLists edges_of(const RandomGraph& graph, Rank rank) const;
  /// Calls f(rank) for each rank that keeps edges of a vertex.
  template <class F>
  void for_each_holder(std::size_t vertex, F f) const {
    const auto it = hubs_.find(vertex);
    if (it == hubs_.end()) return f(vertices_.owner(vertex));
    for (const Rank rank : it->second.holders) f(rank);
  }

 private:
  struct Hub {
    int number = 0;
    std::set<Rank> holders;
  };
  /// The rank that keeps the end at `from` of an edge.
  [[nodiscard]] Rank holder(std::size_t from, std::size_t to, std::size_t edge) const;

  shoal::Distribution vertices_;
  Strategy strategy_;
  int stride_;
  std::unordered_map<std::size_t, Hub> hubs_;
};

}  // namespace hub_bfs
