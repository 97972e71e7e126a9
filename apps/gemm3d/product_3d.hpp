#pragma once
// C = A B on a cube of ranks: the DNS algorithm (Dekel, Nassimi, Sahni).

#include <shoal/shoal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/block_partition.hpp"
#include "common/local_product.hpp"
#include "common/random_factors.hpp"
#include "common/tile_channel.hpp"
#include "common/tile_table.hpp"
#include "gemm3d/cube.hpp"

namespace gemm3d {

/// The matrices are cut into q x q blocks of tiles, which at the beginning and at the end are on
/// layer 0. Written (row, column, layer), for each tile of a block:
///
///   1. A_xk goes from (x, k, 0) to (x, k, k), and from there to all (x, *, k);
///   2. B_ky goes from (k, y, 0) to (k, y, k), and from there to all (*, y, k);
///   3. (x, y, k) computes A_xk B_ky;
///   4. (x, y, 0) adds up the results of (x, y, *), in the order of the layers.
///
/// No step waits for the step before to be over elsewhere. Source: Grama, Gupta, Karypis, Kumar,
/// "Introduction to parallel computing" (reference [4] of the TaskTorrent paper).
class Product3d {
 public:
  /// Errors: InputError if there are fewer tiles in a row than ranks along an edge of the cube.
  Product3d(const apps::ProductContext& context, const Cube& cube, apps::AmKind am);

  /// Makes the own tiles of A and B, and zeros for C; forgets an earlier run. Caller: main of each
  /// rank, before any of them calls run().
  void fill(const apps::RandomFactors& factors);
  /// Blocks: collective.
  void run();
  /// How many kernels a run takes.
  [[nodiscard]] std::uint64_t kernel_count() const { return product_.kernel_count(); }

  [[nodiscard]] const apps::TileTable& c() const { return parts_[0]; }
  /// The own tiles: those of one block on layer 0, none on other layers.
  [[nodiscard]] apps::TileRange own() const;

 private:
  void define_sends();
  void define_add();
  void make_channels(apps::AmKind am);

  /// The tile is on layer 0: raises it to the layer where it is needed.
  void raise_a(int i, int k);
  void raise_b(int k, int j);
  /// The tile is on the layer where it is needed: spreads it there if this is the rank to do so.
  void spread_a(int i, int k);
  void spread_b(int k, int j);
  /// The own contribution to C_ij is complete.
  void lower_c(int i, int j);
  void add(int i, int j, int layer);

  [[nodiscard]] int block_of(int tile) const;
  [[nodiscard]] int worker_of(int i, int j) const { return (i + j) % world_.worker_count(); }

  shoal::World& world_;
  const apps::KernelCosts& costs_;
  const apps::BlockPartition& partition_;
  Cube cube_;
  int row_;
  int column_;
  int layer_;
  apps::TileTable a_;
  apps::TileTable b_;
  std::vector<apps::TileTable> parts_;  // contributions to C of each layer; C itself is the first
  apps::LocalProduct product_;
  std::unique_ptr<apps::TileChannel> channel_a_;
  std::unique_ptr<apps::TileChannel> channel_b_;
  std::vector<std::unique_ptr<apps::TileChannel>> channels_c_;  // of the layers 1..q-1
  shoal::TaskGraph<std::array<int, 2>> send_a_;                 // {i, k}
  shoal::TaskGraph<std::array<int, 2>> send_b_;                 // {k, j}
  shoal::TaskGraph<std::array<int, 3>> add_;                    // {i, j, layer}
};

}  // namespace gemm3d
