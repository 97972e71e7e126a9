#include "common/blas.hpp"
#include "common/checksum.hpp"
#include "common/random_matrix.hpp"
#include "common/tile.hpp"
#include "common/tile_table.hpp"

#include <shoal/error.hpp>

#include "support/heap_meter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>

namespace apps_tiles_test {

using apps::Tile;
using apps::TileTable;
using shoal::testing::HeapMeter;

Tile random_tile(int rows, int columns, std::uint64_t seed) {
  Tile tile(rows, columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) tile(i, j) = apps::random_element(seed, i, j);
  }
  return tile;
}

Tile spd_tile(int size) {
  Tile tile = Tile::zeros(size, size);
  for (int j = 0; j < size; ++j) {
    for (int i = j; i < size; ++i) tile(i, j) = apps::random_spd_element(1, size, i, j);
  }
  return tile;
}

/// The element (i, j) of C + sign * A B, or of C + sign * A B^T.
double product(const Tile& a, const Tile& b, bool transposed, double sign, double c, int i, int j) {
  for (int k = 0; k < a.columns(); ++k) c += sign * a(i, k) * (transposed ? b(j, k) : b(k, j));
  return c;
}

TEST(AppsTile, Values_AreAlignedColumnMajorAndMoveWithTheTile) {
  Tile tile = Tile::zeros(3, 2);
  tile(2, 1) = 7;
  EXPECT_EQ(tile.values()[5], 7);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tile.data()) % 64, 0U);
  const Tile moved = std::move(tile);
  EXPECT_EQ(moved(2, 1), 7);
  EXPECT_TRUE(Tile().empty());
}

TEST(AppsTile, Share_CopiesNothing) {
  Tile tile = random_tile(3, 2, 1);
  const double* const data = tile.data();
  const Tile copy(3, 2, tile.share());
  tile = Tile();
  EXPECT_EQ(copy.data(), data);
  EXPECT_EQ(copy(2, 1), random_tile(3, 2, 1)(2, 1));
}

// The memory of a copy is written by the transport only.
TEST(AppsTile, Values_WithoutValues_AreNotWritten) {
  apps::TileMemory<double> memory;
  double* const place = memory.allocate(1);
  *place = 7;
  memory.construct(place);
  EXPECT_EQ(*place, 7);
  memory.deallocate(place, 1);
}

TEST(AppsTile, SumOfSquares_CountsTheMirroredPartOfASymmetricTile) {
  Tile tile = Tile::zeros(2, 2);
  tile(0, 0) = 1;
  tile(1, 0) = 2;
  tile(1, 1) = 3;
  tile(0, 1) = 100;  // not a part of the lower triangle
  EXPECT_DOUBLE_EQ(sum_of_squares_symmetric(tile).norm(), std::sqrt(1 + 2 * 4 + 9));
  EXPECT_DOUBLE_EQ(sum_of_squares(tile).norm(), std::sqrt(1 + 4 + 9 + 10000));
}

TEST(AppsBlas, Products_AgreeWithTheDefinition) {
  const Tile a = random_tile(5, 4, 1);
  const Tile b = random_tile(4, 3, 2);
  const Tile bt = random_tile(3, 4, 3);
  Tile sum = random_tile(5, 3, 4);
  Tile difference = random_tile(5, 3, 4);
  const Tile before = random_tile(5, 3, 4);
  apps::add_product(a, b, sum);
  apps::subtract_product_transposed(a, bt, difference);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_NEAR(sum(i, j), product(a, b, false, 1, before(i, j), i, j), 1e-14);
      EXPECT_NEAR(difference(i, j), product(a, bt, true, -1, before(i, j), i, j), 1e-14);
    }
  }
}

TEST(AppsBlas, Potrf_FactorsTheLowerTriangleAndLeavesTheUpperOne) {
  const Tile a = spd_tile(6);
  Tile l = spd_tile(6);
  ASSERT_EQ(apps::potrf(l), 0);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) EXPECT_NEAR(product(l, l, true, 1, 0, i, j), a(i, j), 1e-13);
    for (int j = i + 1; j < 6; ++j) EXPECT_EQ(l(i, j), 0);
  }
}

TEST(AppsBlas, Potrf_WhenNotPositiveDefinite_ReturnsTheOrderOfTheMinor) {
  Tile a = spd_tile(6);
  a(3, 3) = -1;
  EXPECT_EQ(apps::potrf(a), 4);
}

TEST(AppsBlas, TrsmAndSyrk_UndoEachOtherAsInAFactorization) {
  Tile l = spd_tile(4);
  ASSERT_EQ(apps::potrf(l), 0);
  const Tile x = random_tile(3, 4, 5);
  Tile b = Tile::zeros(3, 4);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) b(i, j) = product(x, l, true, 1, 0, i, j);
  }
  apps::trsm(l, b);
  Tile c = Tile::zeros(3, 3);
  apps::syrk(x, c);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_NEAR(b(i, j), x(i, j), 1e-14);
    for (int j = 0; j <= i; ++j) EXPECT_NEAR(c(i, j), product(x, x, true, -1, 0, i, j), 1e-14);
  }
}

TEST(AppsTileTable, Put_WhenThePlaceIsTaken_Refuses) {
  TileTable table(2, 3);
  table.put(1, 2, Tile(1, 1));
  EXPECT_TRUE(table.has(1, 2));
  EXPECT_FALSE(table.has(0, 2));
  EXPECT_THROW(table.put(1, 2, Tile(1, 1)), shoal::CheckError);
  EXPECT_THROW(table.put(2, 0, Tile(1, 1)), shoal::CheckError);
  EXPECT_THROW(static_cast<void>(table.at(0, 0)), shoal::CheckError);
}

TEST(AppsTileTable, Release_WhenTheLastUseIsOver_FreesTheTile) {
  TileTable table(1, 1);
  table.put(0, 0, Tile(1, 1), 2);
  table.release(0, 0);
  EXPECT_TRUE(table.has(0, 0));
  table.release(0, 0);
  EXPECT_FALSE(table.has(0, 0));
}

TEST(AppsTileTable, Release_WhenKept_DoesNothingUntilDropped) {
  TileTable table(1, 1);
  table.put(0, 0, Tile(1, 1));
  for (int use = 0; use < 3; ++use) table.release(0, 0);
  EXPECT_TRUE(table.has(0, 0));
  EXPECT_FALSE(table.drop(0, 0).empty());
  EXPECT_TRUE(table.drop(0, 0).empty());
}

// 2^32 places: one byte for each would already be 4 GiB.
TEST(AppsTileTable, Memory_IsThatOfTheTilesThatAreThere) {
  if (!HeapMeter::counts) GTEST_SKIP() << "the sanitizer has the heap";
  constexpr int kSize = 1 << 16;
  constexpr int kTiles = 1000;
  constexpr std::size_t kBytesOfAll = kTiles * (sizeof(double) + 256) + 64 * 1024;
  HeapMeter::reset();
  TileTable table(kSize, kSize);
  EXPECT_LT(HeapMeter::growth_bytes(), 64U * 1024);
  // Places of all rows and columns, again and again: those that went away leave nothing.
  for (int round = 0; round < 100; ++round) {
    for (int k = 0; k < kTiles; ++k) {
      table.put((k * 65 + round) % kSize, (k * 61 + 7 * round) % kSize, Tile(1, 1), 1);
    }
    for (int k = 0; k < kTiles; ++k) {
      table.release((k * 65 + round) % kSize, (k * 61 + 7 * round) % kSize);
    }
  }
  EXPECT_LT(HeapMeter::growth_bytes(), kBytesOfAll);
  EXPECT_GT(HeapMeter::growth_bytes(), kTiles * sizeof(double));
}

TEST(AppsChecksum, Checksum_DependsOnEachBitAndOnThePosition) {
  Tile tile = random_tile(3, 3, 1);
  const auto before = apps::checksum(tile, 4, 5);
  EXPECT_EQ(before, apps::checksum(random_tile(3, 3, 1), 4, 5));
  EXPECT_NE(before, apps::checksum(tile, 5, 4));
  tile(1, 1) = std::nextafter(tile(1, 1), 2);
  EXPECT_NE(before, apps::checksum(tile, 4, 5));
}

}  // namespace apps_tiles_test
