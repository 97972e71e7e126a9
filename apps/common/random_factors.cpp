#include "common/random_factors.hpp"

#include <atomic>
#include <functional>

#include "common/blas.hpp"
#include "common/random_matrix.hpp"

namespace apps {
namespace {

Tile make_block(std::uint64_t seed, int row, int column, int rows, int columns) {
  Tile block(rows, columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) block(i, j) = random_element(seed, row + i, column + j);
  }
  return block;
}

SumOfSquares squared_distance(const Tile& x, const Tile& y) {
  SumOfSquares sum;
  const auto a = x.values();
  const auto b = y.values();
  for (std::size_t i = 0; i < a.size(); ++i) sum.add(a[i] - b[i]);
  return sum;
}

/// Squared error of the own tiles of C in the column j of tiles.
SumOfSquares column_error(const RandomFactors& factors, const BlockPartition& partition,
                          const std::vector<int>& rows, int j, const TileTable& c) {
  const Tile b = factors.column_of_b(j);
  SumOfSquares error;
  for (const int i : rows) {
    Tile reference = Tile::zeros(partition.extent(i), partition.extent(j));
    add_product(factors.row_of_a(i), b, reference);
    error += squared_distance(reference, c.at(i, j));
  }
  return error;
}

}  // namespace

Tile RandomFactors::a(int i, int j) const {
  if (blank_) return {partition_.extent(i), partition_.extent(j)};
  return make_block(2 * seed_, partition_.offset(i), partition_.offset(j), partition_.extent(i),
                    partition_.extent(j));
}

Tile RandomFactors::b(int i, int j) const {
  if (blank_) return {partition_.extent(i), partition_.extent(j)};
  return make_block(2 * seed_ + 1, partition_.offset(i), partition_.offset(j), partition_.extent(i),
                    partition_.extent(j));
}

Tile RandomFactors::row_of_a(int i) const {
  return make_block(2 * seed_, partition_.offset(i), 0, partition_.extent(i), partition_.size());
}

Tile RandomFactors::column_of_b(int j) const {
  return make_block(2 * seed_ + 1, 0, partition_.offset(j), partition_.size(),
                    partition_.extent(j));
}

double product_error(shoal::World& world, const RandomFactors& factors,
                     const BlockPartition& partition, const TileRange& own, const TileTable& c) {
  // One result per column, summed in order: the same number however the tasks are scheduled.
  std::vector<SumOfSquares> errors(own.columns.size());
  for (std::size_t column = 0; column < own.columns.size(); ++column) {
    world.spawn(
        [&, column] {
          errors[column] = column_error(factors, partition, own.rows, own.columns[column], c);
        },
        {.name = "error of a column"});
  }
  world.wait();
  SumOfSquares error;
  SumOfSquares norm_a;
  SumOfSquares norm_b;
  for (std::size_t column = 0; column < own.columns.size(); ++column) {
    error += errors[column];
    for (const int i : own.rows) {
      norm_a += sum_of_squares(factors.a(i, own.columns[column]));
      norm_b += sum_of_squares(factors.b(i, own.columns[column]));
    }
  }
  error = world.allreduce(error, std::plus<>());
  norm_a = world.allreduce(norm_a, std::plus<>());
  norm_b = world.allreduce(norm_b, std::plus<>());
  return error.relative_to(norm_a, norm_b);
}

}  // namespace apps
