#include "hub_bfs/placement.hpp"

#include <algorithm>
#include <numeric>

namespace hub_bfs {

using shoal::Distribution;

std::uint32_t weight_of(std::size_t edge) {
  return static_cast<std::uint32_t>(shoal::KeyHash<std::uint64_t>()(edge));
}

Placement::Placement(const RandomGraph& graph, int ranks, std::size_t hubs, Strategy strategy,
                     int stride)
    : vertices_(Distribution::balanced(graph.vertex_count(), ranks)),
      strategy_(strategy),
      stride_(std::min(stride, ranks)) {
  if (strategy == Strategy::flat) return;
  const std::vector<std::uint32_t> degrees = graph.degrees();
  std::vector<std::size_t> order(degrees.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return degrees[a] > degrees[b]; });
  order.resize(std::min(hubs, order.size()));
  for (std::size_t i = 0; i < order.size(); ++i) hubs_[order[i]].number = static_cast<int>(i);
  // Every rank knows where each hub has edges.
  const auto add = [&](std::size_t from, std::size_t to, std::size_t edge) {
    const auto it = hubs_.find(from);
    if (it != hubs_.end()) it->second.holders.insert(holder(from, to, edge));
  };
  std::size_t edge = 0;
  graph.for_each_edge([&](std::size_t a, std::size_t b) {
    add(a, b, edge);
    add(b, a, edge);
    ++edge;
  });
}

EdgeLists Placement::edges_of(const RandomGraph& graph, Rank rank) const {
  EdgeLists lists;
  std::size_t edge = 0;
  graph.for_each_edge([&](std::size_t a, std::size_t b) {
    if (holder(a, b, edge) == rank) lists[a].push_back({b, weight_of(edge)});
    if (holder(b, a, edge) == rank) lists[b].push_back({a, weight_of(edge)});
    ++edge;
  });
  return lists;
}

Rank Placement::holder(std::size_t from, std::size_t to, std::size_t edge) const {
  const auto it = hubs_.find(from);
  if (it == hubs_.end()) return vertices_.owner(from);
  const int ranks = vertices_.ranks();
  switch (strategy_) {
    case Strategy::flat:
      break;
    case Strategy::everywhere:
      return Rank(static_cast<int>(edge) % ranks);
    case Strategy::neighbors:
      return vertices_.owner(to);
    case Strategy::striped: {
      const int first = it->second.number % stride_;
      const int count = (ranks - first + stride_ - 1) / stride_;
      return Rank(first + static_cast<int>(edge) % count * stride_);
    }
  }
  return vertices_.owner(from);
}

}  // namespace hub_bfs
