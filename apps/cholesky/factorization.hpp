#pragma once
// The tiled Cholesky factorization as three task graphs (TaskTorrent paper, section III C).

#include <shoal/shoal.hpp>

#include <array>
#include <cstdint>
#include <stdexcept>

#include "common/cholesky_order.hpp"
#include "common/run_meter.hpp"
#include "common/tile_inputs.hpp"
#include "common/tile_table.hpp"
#include "common/triangle_layout.hpp"

namespace cholesky {

/// The matrix has no Cholesky factor; what() names the tile and the pivot.
class NotPositiveDefinite : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Replaces the tiles of A by those of L, for A = L L^T:
///
///   potrf(k):      L_kk L_kk^T = A_kk
///   trsm(i, k):    L_ik = A_ik L_kk^-T,         i > k
///   gemm(k, i, j): A_ij <- A_ij - L_ik L_jk^T,  k < j <= i
///
/// A task runs where the tile that it writes lives. A tile of L is sent once to each rank that
/// reads it; its arrival there fulfills one dependency of all tasks that wait for it. The updates
/// of a tile are chained in the order of k, so the bits of L depend on the tiles only, not on the
/// number of ranks and workers.
class Factorization {
 public:
  /// `tiles` has n x n places.
  Factorization(shoal::World& world, const apps::TriangleLayout& layout, apps::TileTable& tiles,
                apps::RunMeter& meter);

  /// All tasks are equally important from now on. Before run().
  void ignore_priorities() { has_priorities_ = false; }
  /// Number of tasks of this rank.
  [[nodiscard]] std::uint64_t task_count() const;

  /// Factors the matrix whose own tiles are in the table. May be called again.
  /// Blocks: collective. Errors: TaskError on every rank if A is not positive definite.
  void run();

 private:
  void define_potrf();
  void define_trsm();
  void define_gemm();

  [[nodiscard]] shoal::Cost cost(apps::Kernel kernel, int row) const;
  void run_potrf(int k);
  void run_trsm(int i, int k);
  void run_gemm(int k, int i, int j);
  /// The tile (i, k) of L is here: own tasks that read it may run.
  void fulfill_uses(int i, int k);
  /// The own tile (i, k) of L is final: sends it to all ranks that read it.
  void publish(int i, int k);
  [[nodiscard]] int priority(int k, int i, int j) const;
  [[nodiscard]] int use_count(int i, int k) const;

  shoal::World& world_;
  const apps::TriangleLayout& layout_;
  apps::TileTable& tiles_;
  apps::RunMeter& meter_;
  const apps::CholeskyOrder order_;
  bool has_priorities_ = true;
  apps::TileInputs inputs_;
  shoal::TaskGraph<int> potrf_;
  shoal::TaskGraph<std::array<int, 2>> trsm_;  // {i, k}
  shoal::TaskGraph<std::array<int, 3>> gemm_;  // {k, i, j}
};

}  // namespace cholesky
