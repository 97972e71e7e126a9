// The choice of calibrate between gets by messages and by MPI-3 RMA.

#include "calibrate/net.hpp"

#include <gtest/gtest.h>

namespace apps_calibrate_gets_test {

using calibrate::faster_by_rma_from;
using calibrate::rounds_of_gets;

TEST(CalibrateGets, TheSizeIsTheFirstFromWhichOnRmaIsNeverSlower) {
  EXPECT_EQ(faster_by_rma_from({}), 0U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 9}, {4096, 20, 20}}), 1024U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 11}, {4096, 20, 19}, {16384, 40, 30}}), 4096U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 9}, {4096, 20, 21}, {16384, 40, 30}}), 16384U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 9}, {4096, 20, 21}}), 0U);  // never: off
}

TEST(CalibrateGets, SlowOnes_AreMeasuredFewerTimes) {
  EXPECT_EQ(rounds_of_gets(0, 1024), 100U);
  EXPECT_EQ(rounds_of_gets(1e5, 1024), 100U);
  EXPECT_EQ(rounds_of_gets(13e6, 1024), 3U);
  EXPECT_EQ(rounds_of_gets(1e10, 1024), 1U);
  EXPECT_EQ(rounds_of_gets(1e5, std::size_t{4} << 20), 2U);
}

}  // namespace apps_calibrate_gets_test
