#include "cholesky/residual.hpp"

#include <functional>

#include "common/blas.hpp"

namespace cholesky {

ResidualCheck::ResidualCheck(shoal::World& world, const apps::TriangleLayout& layout,
                             const SpdMatrix& matrix, apps::TileTable& tiles)
    : world_(world),
      layout_(layout),
      matrix_(matrix),
      tiles_(tiles),
      difference_(layout.n(), layout.n()),
      inputs_(world, layout.partition(), tiles,
              {.name = "tile of L to check",
               .uses = [](int, int) { return apps::TileTable::kUnlimited; },
               .arrived = [](int, int) {}}) {}

double ResidualCheck::run() {
  const auto& partition = layout_.partition();
  apps::SumOfSquares norm;
  layout_.for_each_local_tile([&](int i, int j) {
    apps::Tile tile = matrix_.lower_block(partition.offset(i), partition.offset(j),
                                          partition.extent(i), partition.extent(j));
    norm += i == j ? sum_of_squares_symmetric(tile) : 2 * sum_of_squares(tile);
    difference_.put(i, j, std::move(tile));
  });

  // The updates by one panel run while the next panel travels.
  send_panel(0);
  world_.wait();
  for (int k = 0; k < layout_.n(); ++k) {
    if (k + 1 < layout_.n()) send_panel(k + 1);
    spawn_updates(k);
    world_.wait();
    drop_copies(k);
  }

  apps::SumOfSquares error;
  layout_.for_each_local_tile([&](int i, int j) {
    const apps::Tile tile = difference_.drop(i, j);
    error += i == j ? sum_of_squares_symmetric(tile) : 2 * sum_of_squares(tile);
  });
  error = world_.allreduce(error, std::plus<>());
  return error.relative_to(world_.allreduce(norm, std::plus<>()));
}

// Unlike in the factorization, the diagonal tile updates too: its own tile and those below it.
void ResidualCheck::send_panel(int k) {
  for (int i = k; i < layout_.n(); ++i) {
    if (!layout_.mine(i, k)) continue;
    inputs_.send(layout_.readers(i, k), i, k);
  }
}

void ResidualCheck::spawn_updates(int k) {
  layout_.for_each_local_tile([&](int i, int j) {
    if (j < k) return;
    world_.spawn(
        [this, i, j, k] {
          if (i == j) {
            apps::syrk(tiles_.at(i, k), difference_.at(i, i));
          } else {
            apps::subtract_product_transposed(tiles_.at(i, k), tiles_.at(j, k),
                                              difference_.at(i, j));
          }
        },
        {.name = "residual"});
  });
}

void ResidualCheck::drop_copies(int k) {
  for (int i = k; i < layout_.n(); ++i) {
    if (!layout_.mine(i, k)) tiles_.drop(i, k);
  }
}

}  // namespace cholesky
