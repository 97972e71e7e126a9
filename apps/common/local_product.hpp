#pragma once
// The part of a matrix product that one rank computes, as the tiles that it needs come in.

#include <shoal/shoal.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/block_partition.hpp"
#include "common/cache_order.hpp"
#include "common/run_meter.hpp"
#include "common/tile_table.hpp"

namespace apps {

/// tiled: one task per product of tiles, on one thread each.
/// blas: one call of BLAS on many threads, when all tiles are there.
enum class ProductMode { tiled, blas };

/// Context of a product.
struct ProductContext {
  shoal::World& world;
  const BlockPartition& partition;
  RunMeter& meter;
  ProductMode mode = ProductMode::tiled;
};

/// C_ij = sum over k of A_ik B_kj, for i in rows, k in inner, j in columns.
///
/// Tiled, this is the listing of the TaskTorrent paper, section III B: a task gemm(i, k, j) waits
/// for A_ik, for B_kj and for the product before it; the products of a tile of C are chained in
/// the order of k, so the bits of the result depend on the tiles only.
class LocalProduct {
 public:
  struct Shape {
    std::vector<int> rows;
    std::vector<int> inner;
    std::vector<int> columns;
  };
  struct Tables {
    TileTable& a;
    TileTable& b;
    TileTable& c;
  };

  /// `done(i, j)` is called by the task that finishes the tile C_ij.
  LocalProduct(const ProductContext& context, Shape shape, Tables tables,
               std::function<void(int i, int j)> done);

  /// How many kernels a run takes.
  [[nodiscard]] std::uint64_t kernel_count() const;
  /// Puts zeros into C. Caller: main, before the first tile of A or B arrives.
  void clear_c();
  /// The tile A_ik, or B_kj, is in its table. Caller: any task or handler.
  void a_arrived(int i, int k);
  void b_arrived(int k, int j);
  /// How often a tile of A, or of B, will be released: see TileTable::put().
  [[nodiscard]] int a_uses() const;
  [[nodiscard]] int b_uses() const;

  [[nodiscard]] const Shape& shape() const { return shape_; }

 private:
  void define_gemm();
  void define_whole();
  void run_gemm(int i, int k, int j);
  void run_whole();
  [[nodiscard]] shoal::Cost whole_cost() const;
  void multiply_panels();
  [[nodiscard]] int priority(int i, int k, int j) const;
  [[nodiscard]] int worker_of(int i, int j) const;

  ProductContext context_;
  Shape shape_;
  Tables tables_;
  std::function<void(int i, int j)> done_;
  const CacheOrder order_;
  std::vector<int> index_of_row_;              // of the tile row i among rows
  std::vector<int> index_of_column_;           // of the tile column j among columns
  shoal::TaskGraph<std::array<int, 3>> gemm_;  // {i, k, j}
  shoal::TaskGraph<int> whole_;                // only the key 0
};

}  // namespace apps
