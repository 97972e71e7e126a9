#pragma once
// Owners of the tiles of the lower triangle, and the ranks that need them.

#include <shoal/rank.hpp>

#include <utility>
#include <vector>

#include "common/block_partition.hpp"
#include "common/process_grid.hpp"

namespace apps {

/// The lower triangle of n x n tiles, distributed block-cyclically, as one rank sees it.
///
/// The tile (i, k) of L, i >= k, is read by the tasks of other tiles: the diagonal one by
/// trsm(i', k) for all i' > k; any other by the updates of the tiles (i, j), k < j <= i, in its
/// row, and (i', i), i' > i, in the column that it becomes when transposed.
class TriangleLayout {
 public:
  TriangleLayout(BlockPartition partition, ProcessGrid grid, shoal::Rank me)
      : partition_(std::move(partition)), grid_(grid), me_(me) {}

  [[nodiscard]] const BlockPartition& partition() const { return partition_; }
  [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
  /// Number of tiles in a row.
  [[nodiscard]] int n() const { return partition_.count(); }
  [[nodiscard]] bool mine(int i, int j) const { return grid_.owner(i, j) == me_; }

  /// The other ranks that read the tile (i, k) of L, each once.
  [[nodiscard]] std::vector<shoal::Rank> readers(int i, int k) const;

  /// Calls visit(row, column) for each tile of this rank whose task reads the tile (i, k) of L.
  template <class Visit>
  void for_each_local_use(int i, int k, Visit visit) const {
    if (i != k) {
      for (int j = k + 1; j <= i; ++j) {
        if (mine(i, j)) visit(i, j);
      }
    }
    for (int below = i + 1; below < n(); ++below) {
      if (mine(below, i)) visit(below, i);
    }
  }

  /// Calls visit(row, column) for each tile of this rank.
  template <class Visit>
  void for_each_local_tile(Visit visit) const {
    for (int j = 0; j < n(); ++j) {
      for (int i = j; i < n(); ++i) {
        if (mine(i, j)) visit(i, j);
      }
    }
  }

 private:
  BlockPartition partition_;
  ProcessGrid grid_;
  shoal::Rank me_;
};

}  // namespace apps
