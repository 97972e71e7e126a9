
#include "common/block_partition.hpp"
#include "common/input_error.hpp"
#include "common/process_grid.hpp"
#include "common/random_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

namespace apps_distribution_test {

using apps::BlockPartition;
using apps::ProcessGrid;

TEST(AppsBlockPartition, Uniform_WhenTheTileDoesNotDivide_LastBlockIsSmaller) {
  const auto partition = BlockPartition::uniform(10, 4);
  ASSERT_EQ(partition.count(), 3);
  EXPECT_EQ(partition.size(), 10);
  EXPECT_EQ(partition.offset(2), 8);
  EXPECT_EQ(partition.extent(2), 2);
  EXPECT_EQ(partition.largest_extent(), 4);
}

TEST(AppsBlockPartition, Uniform_WhenTheTileIsLargerThanTheMatrix_MakesOneBlock) {
  EXPECT_EQ(BlockPartition::uniform(3, 100).count(), 1);
  EXPECT_EQ(BlockPartition::uniform(2147483647, 2147483647).count(), 1);
}

TEST(AppsBlockPartition, BlockOf_FindsTheBlockOfEachIndex) {
  const auto partition = BlockPartition::uniform(7, 3);
  const int expected[] = {0, 0, 0, 1, 1, 1, 2};
  for (int index = 0; index < 7; ++index) EXPECT_EQ(partition.block_of(index), expected[index]);
}

TEST(AppsBlockPartition, Make_WhenASizeIsBad_Refuses) {
  EXPECT_THROW(BlockPartition::uniform(0, 4), apps::InputError);
  EXPECT_THROW(BlockPartition::uniform(4, 0), apps::InputError);
  EXPECT_THROW(BlockPartition::random(4, 2, 0.9, 1), apps::InputError);
  EXPECT_THROW(BlockPartition::random(4, 2, 2.1, 1), apps::InputError);
  EXPECT_THROW(BlockPartition::random(4, 2, std::nan(""), 1), apps::InputError);
}

TEST(AppsBlockPartition, Random_KeepsTheNumberOfBlocksTheSumAndTheRatio) {
  for (const double rho : {1.0, 1.1, 1.5, 2.0}) {
    for (const int size : {1, 2, 3, 10, 97, 1000, 4096}) {
      for (const int block : {1, 2, 7, 64, 5000}) {
        SCOPED_TRACE("rho " + std::to_string(rho) + " size " + std::to_string(size) + " block " +
                     std::to_string(block));
        const auto partition = BlockPartition::random(size, block, rho, 5);
        EXPECT_EQ(partition.count(), BlockPartition::uniform(size, block).count());
        EXPECT_EQ(partition.size(), size);
        const double average = static_cast<double>(size) / partition.count();
        EXPECT_LT(partition.largest_extent(), rho * average + 1);
        for (int b = 0; b < partition.count(); ++b) {
          EXPECT_GE(partition.extent(b), 1);
          EXPECT_GT(partition.extent(b), (2 - rho) * average - 1);
        }
      }
    }
  }
}

TEST(AppsBlockPartition, Random_ReachesTheRatioAndDependsOnTheSeed) {
  const auto one = BlockPartition::random(4096, 256, 1.5, 1);
  const auto other = BlockPartition::random(4096, 256, 1.5, 2);
  EXPECT_EQ(one.largest_extent(), 384);
  bool differ = false;
  for (int b = 0; b < one.count(); ++b) {
    differ |= one.extent(b) != other.extent(b);
    EXPECT_EQ(one.extent(b), BlockPartition::random(4096, 256, 1.5, 1).extent(b));
  }
  EXPECT_TRUE(differ);
}

TEST(AppsProcessGrid, NearSquare_UsesAllRanks) {
  const std::pair<int, int> expected[] = {{1, 1}, {1, 2}, {1, 3}, {2, 2}, {1, 5},
                                          {2, 3}, {1, 7}, {2, 4}, {3, 3}};
  for (int ranks = 1; ranks <= 9; ++ranks) {
    const auto grid = ProcessGrid::near_square(ranks);
    EXPECT_EQ(std::pair(grid.rows(), grid.columns()), expected[ranks - 1]);
  }
}

TEST(AppsProcessGrid, Parse_ReadsRowsAndColumns) {
  const auto grid = ProcessGrid::parse("4x2", 8);
  EXPECT_EQ(grid.rows(), 4);
  EXPECT_EQ(grid.columns(), 2);
}

TEST(AppsProcessGrid, Parse_WhenMalformedOrOfTheWrongSize_Refuses) {
  for (const char* text : {"", "4", "x", "4x", "x2", "4x2x1", "-4x-2", "0x8", "4 x 2", "4*2", "4x4",
                           "99999999999x1", "65536x65536"}) {
    EXPECT_THROW(ProcessGrid::parse(text, 8), apps::InputError) << text;
  }
}

TEST(AppsProcessGrid, Owner_IsBlockCyclicAndMatchesItsRowAndColumn) {
  const auto grid = ProcessGrid::parse("2x3", 6);
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 7; ++j) {
      const shoal::Rank owner = grid.owner(i, j);
      EXPECT_EQ(grid.row_of(owner), i % 2);
      EXPECT_EQ(grid.column_of(owner), j % 3);
      EXPECT_EQ(owner, grid.at(i % 2, j % 3));
    }
  }
}

TEST(AppsRandomMatrix, Elements_AreInRangeSpreadAndDependOnEachArgument) {
  std::set<double> values;
  double sum = 0;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 100; ++j) {
      const double value = apps::random_element(3, i, j);
      EXPECT_GE(value, -1);
      EXPECT_LT(value, 1);
      values.insert(value);
      sum += value;
    }
  }
  EXPECT_EQ(values.size(), 10000U);
  EXPECT_LT(std::abs(sum / 10000), 0.05);
  EXPECT_NE(apps::random_element(3, 1, 2), apps::random_element(3, 2, 1));
  EXPECT_NE(apps::random_element(3, 1, 2), apps::random_element(4, 1, 2));
}

TEST(AppsRandomMatrix, SpdElements_AreSymmetricAndDiagonallyDominant) {
  constexpr int size = 50;
  for (int i = 0; i < size; ++i) {
    double beside = 0;
    for (int j = 0; j < size; ++j) {
      const double value = apps::random_spd_element(9, size, i, j);
      EXPECT_EQ(value, apps::random_spd_element(9, size, j, i));
      if (i != j) beside += std::abs(value);
    }
    EXPECT_GT(apps::random_spd_element(9, size, i, i), beside);
  }
}

}  // namespace apps_distribution_test
