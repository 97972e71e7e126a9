#include "qr/factorization.hpp"

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <cstddef>

#include "common/flow_app.hpp"
#include "common/flow_kernels.hpp"
#include "common/flow_matrix.hpp"
#include "common/flow_qr.hpp"
#include "common/flow_square.hpp"
#include "common/random_matrix.hpp"

namespace qr {
namespace {

using apps::FlowMatrix;

/// The upper triangle of `from`, and zero below.
void copy_triangle(FlowMatrix& from, FlowMatrix& to) {
  to.for_each_own([&](int i, int j, apps::Tile& tile) {
    const apps::Tile& given = from.own(i, j);
    const apps::Tile triangle = apps::kernels::upper(apps::kernels::view(given));
    const auto source = i == j ? triangle.values() : given.values();
    for (std::size_t at = 0; at < source.size(); ++at) {
      tile.values()[at] = i <= j ? source[at] : 0;
    }
  });
}

/// ||A - P||_F / ||A||_F of the original A.
double difference(shoal::World& world, FlowMatrix& product, const apps::FlowSquare& square) {
  apps::SumOfSquares reference;
  apps::SumOfSquares squares;
  product.for_each_own([&](int i, int j, const apps::Tile& tile) {
    for (int column = 0; column < tile.columns(); ++column) {
      for (int row = 0; row < tile.rows(); ++row) {
        const double exact =
            square.element(product.rows().offset(i) + row, product.columns().offset(j) + column);
        squares.add(exact - tile(row, column));
        reference.add(exact);
      }
    }
  });
  return apps::relative_norm(world, squares, reference);
}

}  // namespace

int run(shoal::World& world, const apps::FlowAppOptions& options) {
  const int n = options.common.size;
  const auto seed = options.common.seed;
  const auto element = [seed](int i, int j) { return apps::random_element(seed, i, j); };
  apps::FlowSquare square(world, options, "qr", element);
  apps::FlowQr qr(world, square.flow(), square.meter(), square.a(), square.grid());
  return square.run(
      "||A - QR||_F / ||A||_F", 4.0 / 3 * n * n * n * 1e-9, [&] { qr.insert(); },
      [&] {
        FlowMatrix product = square.make("QR");
        copy_triangle(square.a(), product);
        qr.insert_multiplication(product);
        world.wait();
        return difference(world, product, square);
      });
}

}  // namespace qr
