// Statistics of searches, against numbers computed by hand.

#include "bfs/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace apps_bfs_statistics_test {

TEST(BfsStatistics, OfFiveValues_AreThoseComputedByHand) {
  const auto s = bfs::statistics_of({4, 1, 5, 2, 3});
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.first_quartile, 2);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.third_quartile, 4);
  EXPECT_DOUBLE_EQ(s.max, 5);
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(2.5));  // (4 + 1 + 0 + 1 + 4) / 4
}

TEST(BfsStatistics, Quartiles_BetweenTwoValues_AreInterpolated) {
  const auto s = bfs::statistics_of({10, 20, 30, 40});
  EXPECT_DOUBLE_EQ(s.first_quartile, 17.5);
  EXPECT_DOUBLE_EQ(s.median, 25);
  EXPECT_DOUBLE_EQ(s.third_quartile, 32.5);
}

// The inverses are 1, 1/2 and 1/4: their mean is 7/12, their distances from it 5/12, -1/12, -4/12,
// the sum of the squares 42/144.
TEST(BfsStatistics, OfRates_HaveTheHarmonicMeanAndItsStandardError) {
  const auto s = bfs::statistics_of_rates({4, 1, 2});
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.median, 2);
  EXPECT_DOUBLE_EQ(s.max, 4);
  EXPECT_DOUBLE_EQ(s.mean, 12.0 / 7);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(42.0) / 12 / 2 * (144.0 / 49));
}

TEST(BfsStatistics, OfOneValue_HaveNoDeviation) {
  for (const auto& s : {bfs::statistics_of({3}), bfs::statistics_of_rates({3})}) {
    EXPECT_DOUBLE_EQ(s.min, 3);
    EXPECT_DOUBLE_EQ(s.first_quartile, 3);
    EXPECT_DOUBLE_EQ(s.median, 3);
    EXPECT_DOUBLE_EQ(s.third_quartile, 3);
    EXPECT_DOUBLE_EQ(s.max, 3);
    EXPECT_DOUBLE_EQ(s.mean, 3);
    EXPECT_EQ(s.deviation, 0);
  }
}

}  // namespace apps_bfs_statistics_test
