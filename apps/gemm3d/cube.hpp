#pragma once
// The ranks as a cube.

#include <shoal/rank.hpp>

namespace gemm3d {

/// q x q x q ranks: a rank has a row and a column of blocks, and a layer.
class Cube {
 public:
  /// Errors: InputError unless `rank_count` is a cube.
  explicit Cube(int rank_count);

  /// Number of ranks along an edge.
  [[nodiscard]] int edge() const { return edge_; }
  [[nodiscard]] shoal::Rank at(int row, int column, int layer) const {
    return shoal::Rank((layer * edge_ + row) * edge_ + column);
  }
  [[nodiscard]] int row_of(shoal::Rank rank) const { return rank / edge_ % edge_; }
  [[nodiscard]] int column_of(shoal::Rank rank) const { return rank % edge_; }
  [[nodiscard]] int layer_of(shoal::Rank rank) const { return rank / edge_ / edge_; }

 private:
  int edge_;
};

}  // namespace gemm3d
