// Norms of numbers of any size.

#include "common/sum_of_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

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
  EXPECT_FALSE(sum_of({0}).relative_to(sum_of({nan})) <= 1);
  EXPECT_FALSE(sum_of({infinite}).relative_to(sum_of({1})) <= 1);
}

TEST(SumOfSquares, RelativeToNothing_IsZeroForNothingOnly) {
  EXPECT_EQ(sum_of({0}).relative_to(sum_of({0})), 0);
  EXPECT_FALSE(sum_of({1e-300}).relative_to(sum_of({0})) <= 1);
}

// The product of both norms is too large, or too small, for a number.
TEST(SumOfSquares, RelativeToTwo_NeedsNoProductThatIsANumber) {
  for (const double size : {1e-200, 1e155, 1e200}) {
    EXPECT_DOUBLE_EQ(sum_of({6 * size}).relative_to(sum_of({2 * size}), sum_of({size})), 3 / size);
  }
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(sum_of({1}).relative_to(sum_of({1}), sum_of({infinite})) <= 1);
  EXPECT_FALSE(sum_of({1}).relative_to(sum_of({infinite}), sum_of({1})) <= 1);
}

TEST(RelativeError, IsThatOfNumbersOfAnySize) {
  const std::vector<double> right{3, -4, 0};
  for (const double size : {1.0, 1e-200, 1e155, 1e200, 1e300}) {
    std::vector<double> reference;
    for (const double one : right) reference.push_back(one * size);
    std::vector<double> x = reference;
    EXPECT_EQ(apps::relative_error(x, reference), 0) << size;
    x[2] = 5 * size * 1e-3;
    EXPECT_DOUBLE_EQ(apps::relative_error(x, reference), 1e-3) << size;
  }
}

TEST(RelativeError, OfWhatIsNotFinite_IsNotSmall) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {infinite, -infinite, nan}) {
    EXPECT_FALSE(apps::relative_error(std::vector{1.0, bad}, std::vector{1.0, 2.0}) <= 1) << bad;
    EXPECT_FALSE(apps::relative_error(std::vector{1.0, 2.0}, std::vector{1.0, bad}) <= 1) << bad;
    EXPECT_FALSE(apps::relative_error(std::vector{1.0, bad}, std::vector{1.0, bad}) <= 1) << bad;
    EXPECT_FALSE(apps::relative_error(std::vector{0.0, bad}, std::vector{0.0, 0.0}) <= 1) << bad;
  }
  EXPECT_EQ(apps::relative_error(std::vector{0.0}, std::vector{0.0}), 0);
  EXPECT_FALSE(apps::relative_error(std::vector{0.0, 1.0}, std::vector{0.0}) <= 1);
}

}  // namespace apps_sum_of_squares_test
