#pragma once
// C = A B with all three matrices distributed block-cyclically over a grid of ranks.

#include <shoal/shoal.hpp>

#include <array>
#include <cstdint>

#include "common/block_partition.hpp"
#include "common/local_product.hpp"
#include "common/process_grid.hpp"
#include "common/random_factors.hpp"
#include "common/tile_inputs.hpp"
#include "common/tile_table.hpp"

namespace gemm2d {

/// Each rank computes its own tiles of C. For that, the tile A_ik travels along the row of the grid
/// of its owner, and B_kj along the column. Source: TaskTorrent paper, section III B.
class Product2d {
 public:
  Product2d(const apps::ProductContext& context, apps::ProcessGrid grid);

  /// Makes the own tiles of A and B, and zeros for C; forgets an earlier run. Caller: main of each
  /// rank, before any of them calls run().
  void fill(const apps::RandomFactors& factors);
  /// Blocks: collective.
  void run();
  /// How many kernels a run takes.
  [[nodiscard]] std::uint64_t kernel_count() const { return product_.kernel_count(); }

  [[nodiscard]] const apps::TileTable& c() const { return c_; }
  /// The own tiles.
  [[nodiscard]] apps::TileRange own() const {
    return {product_.shape().rows, product_.shape().columns};
  }

 private:
  void define_sends();
  void send_a(int i, int k);
  void send_b(int k, int j);

  shoal::World& world_;
  const apps::BlockPartition& partition_;
  apps::ProcessGrid grid_;
  apps::TileTable a_;
  apps::TileTable b_;
  apps::TileTable c_;
  apps::LocalProduct product_;
  apps::TileInputs inputs_a_;
  apps::TileInputs inputs_b_;
  shoal::TaskGraph<std::array<int, 2>> send_a_;  // {i, k}
  shoal::TaskGraph<std::array<int, 2>> send_b_;  // {k, j}
};

}  // namespace gemm2d
