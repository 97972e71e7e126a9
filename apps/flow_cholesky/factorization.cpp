#include "flow_cholesky/factorization.hpp"

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <stdexcept>

#include "common/cholesky_order.hpp"
#include "common/flow_app.hpp"
#include "common/flow_kernels.hpp"
#include "common/flow_matrix.hpp"
#include "common/flow_square.hpp"
#include "common/random_matrix.hpp"

namespace flow_cholesky {
namespace {

using apps::ConstTileView;
using apps::FlowMatrix;
using apps::Kernel;
using apps::TileView;
using shoal::Codelet;
using shoal::read;
using shoal::read_write;
using shoal::with_priority;
namespace kernels = apps::kernels;

/// The tasks of a run, in the order of the loops.
class Factorization {
 public:
  Factorization(apps::RunMeter& meter, shoal::Flow& flow, const apps::CholeskyOrder& order)
      : flow_(flow),
        order_(order),
        potrf_(
            "potrf",
            [&meter](TileView a, int k) {
              int minor = 0;
              meter.timed(cost(meter, Kernel::potrf, a), [&] { minor = kernels::potrf(a); });
              if (minor != 0) {
                throw std::runtime_error(fmt::format(
                    "the matrix is not positive definite: tile ({0}, {0}), pivot {1}", k, minor));
              }
            }),
        trsm_("trsm",
              [&meter](ConstTileView l, TileView a) {
                meter.timed(cost(meter, Kernel::trsm, a),
                            [&] { kernels::trsm_right_lower_transposed(l, a); });
              }),
        syrk_("syrk",
              [&meter](ConstTileView a, TileView c) {
                meter.timed(cost(meter, Kernel::syrk, c), [&] { kernels::syrk(a, c); });
              }),
        gemm_("gemm", [&meter](ConstTileView a, ConstTileView b, TileView c) {
          meter.timed(cost(meter, Kernel::gemm, c), [&] { kernels::gemm_transposed(a, b, c); });
        }) {}

  /// A <- L.
  void insert(const FlowMatrix& a) {
    const int n = a.rows().count();
    for (int k = 0; k < n; ++k) {
      flow_.insert(potrf_, read_write(a.at(k, k)), k, with_priority(order_.priority(k, k, k)));
      for (int i = k + 1; i < n; ++i) {
        flow_.insert(trsm_, read(a.at(k, k)), read_write(a.at(i, k)),
                     with_priority(order_.priority(k, i, k)));
      }
      for (int j = k + 1; j < n; ++j) {
        flow_.insert(syrk_, read(a.at(j, k)), read_write(a.at(j, j)),
                     with_priority(order_.priority(k, j, j)));
        for (int i = j + 1; i < n; ++i) {
          flow_.insert(gemm_, read(a.at(i, k)), read(a.at(j, k)), read_write(a.at(i, j)),
                       with_priority(order_.priority(k, i, j)));
        }
      }
    }
  }
  /// C <- C - L L^T, the lower triangle.
  void insert_product(const FlowMatrix& l, const FlowMatrix& c) {
    const int n = l.rows().count();
    for (int k = 0; k < n; ++k) {
      for (int j = k; j < n; ++j) {
        flow_.insert(syrk_, read(l.at(j, k)), read_write(c.at(j, j)));
        for (int i = j + 1; i < n; ++i) {
          flow_.insert(gemm_, read(l.at(i, k)), read(l.at(j, k)), read_write(c.at(i, j)));
        }
      }
    }
  }

 private:
  static shoal::Cost cost(const apps::RunMeter& meter, Kernel kernel, const TileView& tile) {
    return meter.costs().cost(kernel, static_cast<double>(tile.rows()));
  }

  shoal::Flow& flow_;
  const apps::CholeskyOrder& order_;
  Codelet<shoal::TypeList<TileView, int>> potrf_;
  Codelet<shoal::TypeList<ConstTileView, TileView>> trsm_;
  Codelet<shoal::TypeList<ConstTileView, TileView>> syrk_;
  Codelet<shoal::TypeList<ConstTileView, ConstTileView, TileView>> gemm_;
};

}  // namespace

int run(shoal::World& world, const apps::FlowAppOptions& options) {
  const int n = options.common.size;
  const auto seed = options.common.seed;
  const auto element = [n, seed](int i, int j) {
    return i < j ? 0 : apps::random_spd_element(seed, n, i, j);
  };
  apps::FlowSquare square(world, options, "flow_cholesky", element, FlowMatrix::Part::lower);
  const apps::CholeskyOrder order(square.a().rows().count(), square.grid(), world.worker_count());
  Factorization factorization(square.meter(), square.flow(), order);
  const double size = n;
  return square.run(
      "||A - LL^T||_F / ||A||_F", (size * size * size / 3 + size * size / 2 + size / 6) * 1e-9,
      [&] { factorization.insert(square.a()); },
      [&] {
        return square.residual([&](FlowMatrix& c) { factorization.insert_product(square.a(), c); });
      });
}

}  // namespace flow_cholesky
