// The choice of calibrate between gets by messages and by MPI-3 RMA.
// One thread: not in the preset tsan.

#include "calibrate/net.hpp"

#include <gtest/gtest.h>

namespace {

using calibrate::faster_by_rma_from;

TEST(CalibrateGets, TheSizeIsTheFirstFromWhichOnRmaIsNeverSlower) {
  EXPECT_EQ(faster_by_rma_from({}), 0U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 9}, {4096, 20, 20}}), 1024U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 11}, {4096, 20, 19}, {16384, 40, 30}}), 4096U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 9}, {4096, 20, 21}, {16384, 40, 30}}), 16384U);
  EXPECT_EQ(faster_by_rma_from({{1024, 10, 9}, {4096, 20, 21}}), 0U);  // never: off
}

}  // namespace
