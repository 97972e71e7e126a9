// Norms of numbers of any size.

#include "common/sum_of_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

namespace apps_sum_of_squares_test {

using apps::SumOfSquares;

SumOfSquares sum_of(std::initializer_list<double> values) {
  SumOfSquares sum;
  for (const double value : values) sum.add(value);
  return sum;
}

TEST(SumOfSquares, Norm_IsRightForNumbersOfAnySize) {
  for (const double size : {1.0, 1e-300, 1e-155, 1e155, 1e200, 1e307}) {
    EXPECT_DOUBLE_EQ(sum_of({3 * size, -4 * size, 0}).norm(), 5 * size);
    EXPECT_DOUBLE_EQ((sum_of({3 * size}) + sum_of({4 * size})).norm(), 5 * size);
    EXPECT_DOUBLE_EQ((sum_of({4 * size}) + sum_of({3 * size})).norm(), 5 * size);
    EXPECT_DOUBLE_EQ((4 * sum_of({size})).norm(), 2 * size);
    SumOfSquares twice;
    twice.add(size, 2);
    EXPECT_DOUBLE_EQ(twice.norm(), std::sqrt(2) * size);
  }
  EXPECT_DOUBLE_EQ(sum_of({1e-200, 1e200, 1e-300}).norm(), 1e200);
}

TEST(SumOfSquares, OfNothing_IsZero) {
  EXPECT_EQ(sum_of({}).norm(), 0);
  EXPECT_EQ(sum_of({0, -0.0}).norm(), 0);
  EXPECT_EQ((sum_of({}) + sum_of({2})).norm(), 2);
  EXPECT_EQ((sum_of({2}) + sum_of({})).norm(), 2);
}

TEST(SumOfSquares, Quotient_NeedsNoNormThatIsANumber) {
  const double huge = std::numeric_limits<double>::max();
  EXPECT_TRUE(std::isinf(sum_of({huge, huge}).norm()));
  EXPECT_DOUBLE_EQ(sum_of({huge, huge}).relative_to(sum_of({huge})), std::sqrt(2));
  EXPECT_EQ(sum_of({}).relative_to(sum_of({1})), 0);
}

TEST(SumOfSquares, NumbersThatAreNotFinite_AreNotLost) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(sum_of({1, infinite, 2}).norm()));
  EXPECT_FALSE(std::isfinite(sum_of({infinite, infinite}).norm()));
  EXPECT_FALSE(std::isfinite(sum_of({1, nan, 2}).norm()));
  EXPECT_FALSE(std::isfinite(sum_of({nan}).norm()));
  EXPECT_FALSE(std::isfinite((sum_of({nan}) + sum_of({1})).norm()));
  EXPECT_FALSE(std::isfinite((sum_of({1}) + sum_of({nan})).norm()));
  EXPECT_FALSE(sum_of({nan}).relative_to(sum_of({1})) <= 1);
  EXPECT_FALSE(sum_of({1}).relative_to(sum_of({infinite})) <= 1);
}

}  // namespace apps_sum_of_squares_test
