
#include "common/triangle_layout.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace apps_triangle_layout_test {

using apps::BlockPartition;
using apps::ProcessGrid;
using apps::TriangleLayout;

std::vector<TriangleLayout> all_ranks(int n, const ProcessGrid& grid) {
  std::vector<TriangleLayout> layouts;
  for (int rank = 0; rank < grid.rows() * grid.columns(); ++rank) {
    layouts.emplace_back(BlockPartition::uniform(n, 1), grid, shoal::Rank(rank));
  }
  return layouts;
}

class AppsTriangleLayout : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static ProcessGrid grid() {
    const std::string text = GetParam();
    return ProcessGrid::parse(text, (text[0] - '0') * (text[2] - '0'));
  }
};

TEST_P(AppsTriangleLayout, Tiles_BelongToExactlyOneRank) {
  for (const int n : {1, 2, 5, 8}) {
    int tiles = 0;
    for (const auto& layout : all_ranks(n, grid())) {
      layout.for_each_local_tile([&](int i, int j) {
        EXPECT_LE(j, i);
        ++tiles;
      });
    }
    EXPECT_EQ(tiles, n * (n + 1) / 2);
  }
}

TEST_P(AppsTriangleLayout, LocalUses_OfAllRanksAreTheTasksThatReadTheTile) {
  const int n = 7;
  for (int k = 0; k < n; ++k) {
    for (int i = k; i < n; ++i) {
      std::multiset<std::pair<int, int>> uses;
      for (const auto& layout : all_ranks(n, grid())) {
        layout.for_each_local_use(i, k, [&](int row, int column) { uses.emplace(row, column); });
      }
      std::multiset<std::pair<int, int>> expected;
      for (int j = k + 1; i > k && j <= i; ++j) expected.emplace(i, j);
      for (int below = i + 1; below < n; ++below) expected.emplace(below, i);
      EXPECT_EQ(uses, expected) << "tile " << i << ' ' << k;
    }
  }
}

TEST_P(AppsTriangleLayout, Readers_AreTheOtherRanksWithALocalUse) {
  for (const int n : {1, 2, 3, 8}) {
    const auto layouts = all_ranks(n, grid());
    for (int k = 0; k < n; ++k) {
      for (int i = k; i < n; ++i) {
        const int owner = grid().owner(i, k);
        std::set<int> expected;
        for (int rank = 0; rank < static_cast<int>(layouts.size()); ++rank) {
          layouts[static_cast<std::size_t>(rank)].for_each_local_use(i, k, [&](int, int) {
            if (rank != owner) expected.insert(rank);
          });
        }
        const auto readers = layouts[static_cast<std::size_t>(owner)].readers(i, k);
        EXPECT_EQ(std::set<int>(readers.begin(), readers.end()), expected);
        EXPECT_EQ(readers.size(), expected.size());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, AppsTriangleLayout,
                         ::testing::Values("1x1", "1x2", "2x1", "2x2", "2x3", "3x2", "1x5", "4x4"));

}  // namespace apps_triangle_layout_test
