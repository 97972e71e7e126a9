#pragma once
// The random graphs of the Graph500 benchmark: a stochastic Kronecker product of a 2 x 2 matrix.

#include <cstdint>

#include "bfs/vertex_partition.hpp"

namespace bfs {

/// The undirected edge between two vertices, which may be the same.
struct Edge {
  Vertex a;
  Vertex b;
};

/// A bijection of 0 .. 2^bits - 1 that looks random; every rank computes it for itself.
class Scramble {
 public:
  Scramble(int bits, std::uint64_t seed);
  [[nodiscard]] Vertex operator()(Vertex vertex) const;

 private:
  static constexpr int kRounds = 4;

  std::uint64_t mask_;
  int shift_;
  std::uint64_t factors_[kRounds] = {};  // odd, so that multiplication loses nothing
  std::uint64_t offsets_[kRounds] = {};
};

/// Edges as functions of (seed, index): any rank makes any of them, so the graph does not depend on
/// how many ranks there are.
///
/// **Source**: Graph500 specification (graph500.org), "Generating the edge list": 2^scale vertices,
/// edge_factor * 2^scale edges, A = 0.57, B = C = 0.19, D = 0.05, with self-loops and repeated
/// edges as they come. The specification then permutes the vertices at random, so that their
/// numbers tell nothing of their degrees. A permutation drawn uniformly would have to be stored or
/// sent, so, as the benchmark's reference generator does, a bijection on the bits of the number is
/// used (see Scramble). It also shuffles the list of edges. Here all edges are independent and
/// drawn from the same distribution: any order of them is as random as any other.
class Kronecker {
 public:
  static constexpr int kScaleMax = 42;  // the largest class of the specification
  static constexpr int kEdgeFactorMax = 1024;

  Kronecker(int scale, int edge_factor, std::uint64_t seed);

  [[nodiscard]] Vertex vertex_count() const { return Vertex{1} << scale_; }
  [[nodiscard]] std::int64_t edge_count() const { return edge_factor_ * vertex_count(); }
  /// The edge of this index, 0 <= index < edge_count().
  [[nodiscard]] Edge edge(std::int64_t index) const;
  /// The same before the vertices are permuted: small numbers have the most edges.
  [[nodiscard]] Edge plain_edge(std::int64_t index) const;

 private:
  int scale_;
  int edge_factor_;
  std::uint64_t seed_;
  Scramble scramble_;
};

}  // namespace bfs
