// The line of calibrate for trees of multicasts.

#include "calibrate/trees.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace apps_calibrate_trees_test {

using calibrate::cost_of_one_more;
using calibrate::trees_to_config;
using ::testing::HasSubstr;

TEST(CalibrateTrees, EachFurtherRecipientCostsThePartBeyondTheFirst) {
  EXPECT_EQ(cost_of_one_more(1000, 1900, 4), 300U);
  EXPECT_EQ(cost_of_one_more(1000, 900, 4), 1U);  // disturbed
}

TEST(CalibrateTrees, CostsAreAnOptionOfTheConfiguration) {
  EXPECT_THAT(trees_to_config({300, 1600, 44'000, 51'000}),
              HasSubstr("\nmulticast-costs = \"300ns,1600ns,44000ns,51000ns\"\n"));
  EXPECT_THAT(trees_to_config({}), HasSubstr("# trees of multicasts: not measured"));
}

}  // namespace apps_calibrate_trees_test
