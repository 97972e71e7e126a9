#include "common/random_graph.hpp"

#include <shoal/key.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace apps {

RandomGraph::RandomGraph(std::size_t vertices, double degree, std::uint64_t seed, double skew)
    : vertices_(vertices),
      edges_(static_cast<std::size_t>(static_cast<double>(vertices) * degree / 2)),
      seed_(seed),
      skew_(skew) {}

std::size_t RandomGraph::vertex(std::uint64_t number) const {
  const std::uint64_t mixed =
      shoal::KeyHash<std::pair<std::uint64_t, std::uint64_t>>()(std::pair(seed_, number));
  const double place = std::ldexp(static_cast<double>(mixed >> 11U), -53);
  const double skewed = skew_ == 1.0 ? place : std::pow(place, skew_);
  return std::min(vertices_ - 1, static_cast<std::size_t>(skewed * static_cast<double>(vertices_)));
}

std::pair<std::size_t, std::size_t> RandomGraph::edge(std::size_t index) const {
  return {vertex(2 * index), vertex(2 * index + 1)};
}

std::vector<std::uint32_t> RandomGraph::components() const {
  std::vector<std::uint32_t> parents(vertices_);
  std::iota(parents.begin(), parents.end(), 0);
  const auto root_of = [&](std::size_t vertex) {
    while (parents[vertex] != vertex) vertex = parents[vertex] = parents[parents[vertex]];
    return static_cast<std::uint32_t>(vertex);
  };
  for_each_edge([&](std::size_t a, std::size_t b) {
    const auto [less, more] = std::minmax({root_of(a), root_of(b)});
    parents[more] = less;
  });
  for (std::size_t vertex = 0; vertex < vertices_; ++vertex) parents[vertex] = root_of(vertex);
  return parents;
}

std::vector<int> RandomGraph::levels(std::size_t root) const {
  std::vector<std::vector<std::size_t>> neighbours(vertices_);
  for_each_edge([&](std::size_t a, std::size_t b) {
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  });
  std::vector<int> levels(vertices_, -1);
  levels[root] = 0;
  for (std::deque<std::size_t> next{root}; !next.empty(); next.pop_front()) {
    for (const std::size_t to : neighbours[next.front()]) {
      if (levels[to] >= 0) continue;
      levels[to] = levels[next.front()] + 1;
      next.push_back(to);
    }
  }
  return levels;
}

std::vector<std::uint32_t> RandomGraph::degrees() const {
  std::vector<std::uint32_t> degrees(vertices_);
  for_each_edge([&](std::size_t a, std::size_t b) {
    ++degrees[a];
    ++degrees[b];
  });
  return degrees;
}

}  // namespace apps
