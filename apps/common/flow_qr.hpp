#pragma once
// Tiled QR factorization with Householder reflectors, as a sequential flow of tasks.

#include <shoal/shoal.hpp>

#include <vector>

#include "common/flow_matrix.hpp"
#include "common/run_meter.hpp"

namespace apps {

/// Factors A = Q R, m x n with m >= n, tile by tile down each column: R takes the place of the
/// upper triangle of A, the reflectors that of the rest, and of two matrices beside it.
/// **Source**: A. Buttari, J. Langou, J. Kurzak, J. Dongarra, "A class of parallel tiled linear
/// algebra algorithms for multicore architectures", 2009, algorithm 4.
class FlowQr {
 public:
  /// `a` is block-cyclic over `grid`. **Caller**: all ranks.
  FlowQr(const shoal::World& world, shoal::Flow& flow, RunMeter& meter, FlowMatrix& a,
         const ProcessGrid& grid);

  /// Inserts the tasks of A = Q R, and of b <- Q^T b if there is a `b`: one column of tiles.
  void insert(const FlowMatrix* b = nullptr);
  /// Inserts the tasks of C <- Q C, tiles as those of A.
  void insert_multiplication(const FlowMatrix& c);

 private:
  void apply(bool transposed, const FlowMatrix& c, int k, int column);
  void apply_below(bool transposed, const FlowMatrix& c, int k, int i, int column);

  template <class... Ps>
  using CodeletOf = shoal::Codelet<shoal::TypeList<Ps...>>;

  shoal::Flow& flow_;
  FlowMatrix& a_;
  const int count_;  // of steps
  BlockPartition reflector_rows_;
  FlowMatrix factors_;              // of the reflectors of each tile
  std::vector<TileData> diagonal_;  // reflectors of the tiles (k, k)
  CodeletOf<TileView, TileView, TileView> geqrt_;
  CodeletOf<bool, ConstTileView, ConstTileView, TileView> gemqrt_;
  CodeletOf<TileView, TileView, TileView> tsqrt_;
  CodeletOf<bool, ConstTileView, ConstTileView, TileView, TileView> tsmqr_;
};

}  // namespace apps
