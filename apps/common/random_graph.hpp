#pragma once
// Random graphs that each rank computes for itself.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace apps {

/// Edges as a function of (seed, index). With `skew` above 1, vertices with small numbers have most
/// of the edges.
class RandomGraph {
 public:
  RandomGraph(std::size_t vertices, double degree, std::uint64_t seed, double skew = 1.0);

  [[nodiscard]] std::size_t vertex_count() const { return vertices_; }
  [[nodiscard]] std::size_t edge_count() const { return edges_; }
  /// 0 <= index < edge_count(). Both ends may be the same, and edges may be equal.
  [[nodiscard]] std::pair<std::size_t, std::size_t> edge(std::size_t index) const;
  template <class F>
  void for_each_edge(F f) const {
    for (std::size_t index = 0; index < edges_; ++index) {
      const auto [a, b] = edge(index);
      f(a, b);
    }
  }

  // Results of one rank alone, to compare with.

  /// The least number of a vertex that each is connected to.
  [[nodiscard]] std::vector<std::uint32_t> components() const;
  /// Number of edges between `root` and each vertex; -1: not connected.
  [[nodiscard]] std::vector<int> levels(std::size_t root) const;
  /// Ends of edges at each vertex.
  [[nodiscard]] std::vector<std::uint32_t> degrees() const;

 private:
  [[nodiscard]] std::size_t vertex(std::uint64_t number) const;

  std::size_t vertices_;
  std::size_t edges_;
  std::uint64_t seed_;
  double skew_;
};

}  // namespace apps
