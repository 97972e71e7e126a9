#pragma once
// The order of the tasks of a tiled Cholesky factorization.

#include "common/cache_order.hpp"
#include "common/critical_path.hpp"
#include "common/process_grid.hpp"

namespace apps {

/// Tasks on the critical path of blocks of tiles come first; within a block, tasks with data in the
/// cache. Panels come before updates, since other ranks wait for them.
class CholeskyOrder {
 public:
  /// The order of n x n tiles on the grid, with that many workers of each rank.
  CholeskyOrder(int n, const ProcessGrid& grid, int workers);

  /// Priority of the task that writes the tile (i, j) after panel k, or as part of it.
  [[nodiscard]] int priority(int k, int i, int j) const;
  /// All tasks of a square of tiles go to the same worker, neighbours of a rank to different ones.
  [[nodiscard]] int worker_of(int i, int j) const;

 private:
  const ProcessGrid grid_;
  const int workers_;
  const CacheOrder order_;
  const CriticalPath critical_path_;  // of blocks of order_.depth() x order_.depth() tiles
};

}  // namespace apps
