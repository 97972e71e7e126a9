#include "lu/factorization.hpp"

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <stdexcept>

#include "common/flow_app.hpp"
#include "common/flow_kernels.hpp"
#include "common/flow_matrix.hpp"
#include "common/flow_square.hpp"
#include "common/random_matrix.hpp"

namespace lu {
namespace {

using apps::ConstTileView;
using apps::FlowMatrix;
using apps::TileView;
using shoal::Codelet;
using shoal::Cost;
using shoal::read;
using shoal::read_write;
using shoal::with_priority;
namespace kernels = apps::kernels;

Cost cost_of(double factor, const ConstTileView& tile) {
  const auto rows = static_cast<double>(tile.rows());
  return Cost::of_flops(factor * rows * rows * static_cast<double>(tile.columns()));
}

/// A <- L and U.
void insert_factorization(shoal::Flow& flow, apps::RunMeter& meter, const FlowMatrix& a) {
  const Codelet getrf("getrf", [&meter](TileView tile, int first) {
    int zero = 0;
    meter.timed(cost_of(2.0 / 3, tile), [&] { zero = kernels::getrf(tile); });
    if (zero != 0) {
      throw std::runtime_error(
          fmt::format("the pivot of row {} is zero: lu does not exchange rows", first + zero));
    }
  });
  const Codelet row("trsm_row", [&meter](ConstTileView l, TileView tile) {
    meter.timed(cost_of(1, tile), [&] { kernels::trsm_left_unit_lower(l, tile); });
  });
  const Codelet column("trsm_column", [&meter](ConstTileView u, TileView tile) {
    meter.timed(cost_of(1, tile), [&] { kernels::trsm_right_upper(u, tile); });
  });
  const Codelet gemm("gemm", [&meter](ConstTileView l, ConstTileView u, TileView tile) {
    meter.timed(cost_of(2, tile), [&] { kernels::gemm(l, u, tile); });
  });
  const int n = a.rows().count();
  for (int k = 0; k < n; ++k) {
    const auto first = with_priority(n - k);
    flow.insert(getrf, read_write(a.at(k, k)), a.rows().offset(k), first);
    for (int i = k + 1; i < n; ++i) {
      flow.insert(column, read(a.at(k, k)), read_write(a.at(i, k)), first);
      flow.insert(row, read(a.at(k, k)), read_write(a.at(k, i)), first);
    }
    for (int j = k + 1; j < n; ++j) {
      for (int i = k + 1; i < n; ++i) {
        flow.insert(gemm, read(a.at(i, k)), read(a.at(k, j)), read_write(a.at(i, j)));
      }
    }
  }
}

/// C <- C - L U.
void insert_product(shoal::Flow& flow, const FlowMatrix& lu, const FlowMatrix& c) {
  const Codelet subtract(
      "subtract", [](ConstTileView l, ConstTileView u, TileView tile, bool unit, bool triangle) {
        const apps::Tile lower = unit ? kernels::unit_lower(l) : apps::Tile();
        const apps::Tile upper = triangle ? kernels::upper(u) : apps::Tile();
        kernels::gemm(unit ? kernels::view(lower) : l, triangle ? kernels::view(upper) : u, tile);
      });
  const int n = c.rows().count();
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k <= std::min(i, j); ++k) {
        flow.insert(subtract, read(lu.at(i, k)), read(lu.at(k, j)), read_write(c.at(i, j)), k == i,
                    k == j);
      }
    }
  }
}

}  // namespace

int run(shoal::World& world, const apps::FlowAppOptions& options) {
  const int n = options.common.size;
  const auto seed = options.common.seed;
  const auto element = [n, seed](int i, int j) {  // diagonally dominant: no pivoting is needed
    return apps::random_element(seed, i, j) + (i == j ? n : 0);
  };
  apps::FlowSquare square(world, options, "lu", element);
  return square.run(
      "||A - LU||_F / ||A||_F", 2.0 / 3 * n * n * n * 1e-9,
      [&] { insert_factorization(square.flow(), square.meter(), square.a()); },
      [&] {
        return square.residual(
            [&](FlowMatrix& c) { insert_product(square.flow(), square.a(), c); });
      });
}

}  // namespace lu
