// Incomplete factors of sparse_solve against the matrix that they stand for.

#include "sparse_solve/factor.hpp"
#include "sparse_solve/tiles.hpp"

#include "common/input_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace apps_sparse_factor_test {

using Dense = std::vector<std::vector<double>>;

Dense dense(const apps::SquareMatrix& matrix) {
  Dense all(static_cast<std::size_t>(matrix.size),
            std::vector<double>(static_cast<std::size_t>(matrix.size)));
  for (const apps::Entry& entry : matrix.entries) {
    all[static_cast<std::size_t>(entry.row)][static_cast<std::size_t>(entry.column)] = entry.value;
  }
  return all;
}

/// The product of both factors.
Dense product(const sparse_solve::Factors& factors) {
  const auto size = static_cast<std::size_t>(factors.lower.size);
  Dense lower(size, std::vector<double>(size));
  Dense upper = lower;
  for (std::size_t row = 0; row < size; ++row) {
    const sparse_solve::LowerFactor& low = factors.lower;
    for (std::size_t at = low.row_begin[row]; at < low.row_begin[row + 1]; ++at) {
      lower[row][static_cast<std::size_t>(low.column[at])] = low.value[at];
    }
    const sparse_solve::LowerFactor& up = factors.reversed_upper;
    for (std::size_t at = up.row_begin[row]; at < up.row_begin[row + 1]; ++at) {
      upper[size - 1 - row][size - 1 - static_cast<std::size_t>(up.column[at])] = up.value[at];
    }
  }
  Dense all(size, std::vector<double>(size));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t j = 0; j < size; ++j) all[i][j] += lower[i][k] * upper[k][j];
    }
  }
  return all;
}

/// Random entries, `dominant` on the diagonal (0: none there).
apps::SquareMatrix random_matrix(int size, double dominant, bool symmetric) {
  std::mt19937 random(7);
  apps::SquareMatrix matrix;
  matrix.size = size;
  matrix.symmetric = symmetric;
  Dense all(static_cast<std::size_t>(size), std::vector<double>(static_cast<std::size_t>(size)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (random() % 4 == 0) all[i][j] = 1 + static_cast<double>(random() % 100) / 100;
      if (symmetric) all[j][i] = all[i][j];
      if (!symmetric && random() % 4 == 0) all[j][i] = 2 - static_cast<double>(random() % 100) / 50;
    }
    all[i][i] = dominant;
  }
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      const double value = all[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      if (value != 0) matrix.entries.push_back({i, j, value});
    }
  }
  return matrix;
}

TEST(SparseFactor, OfAnUnsymmetricMatrix_EqualsTheScaledMatrixWhereThatHasElements) {
  const apps::SquareMatrix matrix = random_matrix(40, 60, false);
  const sparse_solve::Factors factors = sparse_solve::incomplete_factors(matrix);
  EXPECT_EQ(factors.kind, "ILU(0)");
  EXPECT_EQ(factors.shift, 0);
  const Dense all = product(factors);
  for (const apps::Entry& entry : matrix.entries) {
    EXPECT_NEAR(all[static_cast<std::size_t>(entry.row)][static_cast<std::size_t>(entry.column)],
                entry.value / 60, 1e-14);  // the largest element of each row is the diagonal's
  }
}

TEST(SparseFactor, OfASymmetricMatrix_IsThatOfCholesky) {
  const apps::SquareMatrix matrix = random_matrix(40, 60, true);
  const sparse_solve::Factors factors = sparse_solve::incomplete_factors(matrix);
  EXPECT_EQ(factors.kind, "IC(0)");
  const Dense all = product(factors);
  for (const apps::Entry& entry : matrix.entries) {
    EXPECT_NEAR(all[static_cast<std::size_t>(entry.row)][static_cast<std::size_t>(entry.column)],
                entry.value / 60, 1e-14);
  }
}

TEST(SparseFactor, WithAnEmptyOrNegativeDiagonal_IsShiftedUntilThePivotsAreUsable) {
  for (const bool symmetric : {false, true}) {
    for (const double diagonal : {0.0, -1.0}) {
      const sparse_solve::Factors factors =
          sparse_solve::incomplete_factors(random_matrix(40, diagonal, symmetric));
      EXPECT_EQ(factors.kind, "ILU(0)");
      if (diagonal == 0) {
        EXPECT_GT(factors.shift, 0);
      }
      const std::vector<double> b(40, 1.0);
      for (const double x : sparse_solve::solve_both(factors, b, &sparse_solve::solve_serially)) {
        EXPECT_TRUE(std::isfinite(x));
      }
    }
  }
}

TEST(SparseTiles, ARow_NeedsNoElementsOfLaterTiles) {
  constexpr int kBlock = 7;
  const sparse_solve::Factors factors =
      sparse_solve::incomplete_factors(random_matrix(60, 3, false));
  const sparse_solve::LowerFactor& factor = factors.lower;
  for (const int levels : {1, 3, 100}) {
    const sparse_solve::Tiles tiles(factor, kBlock, levels);
    std::vector<int> seen(static_cast<std::size_t>(factor.size));
    for (int tile = 0; tile < tiles.count(); ++tile) {
      ASSERT_FALSE(tiles.rows(tile).empty());
      for (const int row : tiles.rows(tile)) {
        const auto at = static_cast<std::size_t>(row);
        EXPECT_EQ(tiles.tile_of(row), tile);
        EXPECT_EQ(tiles.strip_of(tile), row / kBlock);
        for (std::size_t i = factor.row_begin[at]; i + 1 < factor.row_begin[at + 1]; ++i) {
          EXPECT_LE(tiles.tile_of(factor.column[i]), tile);
          // Within a tile, elements are solved before they are needed.
          EXPECT_EQ(seen[static_cast<std::size_t>(factor.column[i])], 1) << row;
        }
        ++seen[at];
      }
    }
    EXPECT_EQ(std::ranges::count(seen, 1), factor.size);
  }
}

TEST(SparseFactor, SolvingWithBothFactors_InvertsTheirProduct) {
  const sparse_solve::Factors factors =
      sparse_solve::incomplete_factors(random_matrix(40, 3, false));
  std::vector<double> b;
  for (int i = 0; i < 40; ++i) b.push_back(std::sin(i));
  const std::vector<double> x = sparse_solve::solve_both(factors, b, &sparse_solve::solve_serially);
  const Dense all = product(factors);
  for (std::size_t i = 0; i < b.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < b.size(); ++j) sum += all[i][j] * x[j];
    EXPECT_NEAR(sum, b[i], 1e-9);
  }
}

TEST(SparseFactor, OfAPattern_HasTheValuesOfItsGraphsLaplacian) {
  apps::SquareMatrix pattern;
  pattern.size = 3;
  pattern.has_values = false;
  pattern.entries = {{0, 1, 1}, {0, 2, 1}, {1, 1, 1}, {2, 0, 1}};
  EXPECT_EQ(dense(sparse_solve::with_values(pattern)), (Dense{{3, -1, -1}, {0, 1, 0}, {-1, 0, 2}}));
}

TEST(SparseFactor, OfARowOfZeros_IsRefused) {
  apps::SquareMatrix matrix;
  matrix.size = 2;
  matrix.entries = {{0, 0, 1}, {1, 0, 0}};
  EXPECT_THROW(static_cast<void>(sparse_solve::incomplete_factors(matrix)), apps::InputError);
}

}  // namespace apps_sparse_factor_test
