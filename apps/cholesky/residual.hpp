#pragma once
// The error of a computed factor: the true norm, computed by all ranks.

#include <shoal/shoal.hpp>

#include "cholesky/spd_matrix.hpp"
#include "common/tile_inputs.hpp"
#include "common/tile_table.hpp"
#include "common/triangle_layout.hpp"

namespace cholesky {

/// Computes ||A - L L^T||_F / ||A||_F. Each rank subtracts the products from its own tiles of A,
/// panel by panel, so that it needs copies of only two panels of L beside its own tiles.
class ResidualCheck {
 public:
  /// `tiles` has the own tiles of L, zero above the diagonal.
  ResidualCheck(shoal::World& world, const apps::TriangleLayout& layout, const SpdMatrix& matrix,
                apps::TileTable& tiles);

  /// Blocks: collective.
  double run();

 private:
  void send_panel(int k);
  void spawn_updates(int k);
  void drop_copies(int k);

  shoal::World& world_;
  const apps::TriangleLayout& layout_;
  const SpdMatrix& matrix_;
  apps::TileTable& tiles_;
  apps::TileTable difference_;  // the own tiles of A - L L^T
  apps::TileInputs inputs_;
};

}  // namespace cholesky
