#include "common/cache_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace apps_cache_order_test {

using apps::CacheOrder;

struct Step {
  int row;
  int column;
  int step;
};

/// All steps of a block, in their order; none beyond the length.
std::vector<Step> sorted_steps(const CacheOrder& order, int rows, int columns) {
  std::vector<Step> steps;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      for (int step = 0; step < order.depth(); ++step) {
        const int place = order.place(row, column, step);
        EXPECT_GE(place, 0);
        EXPECT_LT(place, order.length());
        steps.push_back({row, column, step});
      }
    }
  }
  std::ranges::stable_sort(
      steps, {}, [&](const Step& one) { return order.place(one.row, one.column, one.step); });
  return steps;
}

TEST(AppsCacheOrder, Squares_FollowEachOtherAndTheirStepsAscend) {
  const CacheOrder order(20, 26, 5, 1);
  std::set<int> squares;
  int square = -1;
  int step = 0;
  for (const Step& one : sorted_steps(order, 20, 26)) {
    if (order.square(one.row, one.column) != square) {
      square = order.square(one.row, one.column);
      EXPECT_TRUE(squares.insert(square).second) << "square " << square << " comes back";
      step = 0;
    }
    EXPECT_GE(one.step, step);
    step = one.step;
  }
  EXPECT_EQ(squares.size(), 20);  // 4 x 5 squares of up to 6 x 6 tiles
}

TEST(AppsCacheOrder, Squares_AreSmallerWhereWorkersWouldHaveNone) {
  for (const int workers : {1, 2, 8, 64}) {
    for (const int tiles : {1, 3, 8, 40}) {
      const CacheOrder order(tiles, tiles, 1, workers);
      std::set<int> squares;
      for (int row = 0; row < tiles; ++row) {
        for (int column = 0; column < tiles; ++column) squares.insert(order.square(row, column));
      }
      EXPECT_GE(static_cast<int>(squares.size()), std::min(tiles * tiles, 4 * workers))
          << workers << " workers, " << tiles << " x " << tiles << " tiles";
    }
  }
}

}  // namespace apps_cache_order_test
