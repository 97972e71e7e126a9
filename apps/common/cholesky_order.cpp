#include "common/cholesky_order.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace apps {

namespace {

// Deep blocks keep tiles in caches; many of them let the panels of ranks that wait come first.
CacheOrder order_of(int n, const ProcessGrid& grid, int workers) {
  constexpr int kDeepest = 32;
  const int depth = std::clamp(n / (2 * std::max(grid.rows(), grid.columns())), 1, kDeepest);
  return {n / grid.rows(), n / grid.columns(), depth, workers};
}

}  // namespace

CholeskyOrder::CholeskyOrder(int n, const ProcessGrid& grid, int workers)
    : grid_(grid),
      workers_(workers),
      order_(order_of(n, grid, workers)),
      critical_path_((n + order_.depth() - 1) / order_.depth()) {}

int CholeskyOrder::priority(int k, int i, int j) const {
  const int depth = order_.depth();
  const int block = k / depth;
  const int row = i / depth;
  const int column = j / depth;
  double path = critical_path_.potrf(block);
  if (block < column) {
    path = critical_path_.gemm(block, row, column);
  } else if (column < row) {
    path = critical_path_.trsm(row, column);
  }
  const int later = k == j ? 0 : order_.place(i / grid_.rows(), j / grid_.columns(), k % depth);
  const auto first = (static_cast<std::int64_t>(path) + 1) * order_.length();
  return static_cast<int>(std::min<std::int64_t>(first - later, std::numeric_limits<int>::max()));
}

int CholeskyOrder::worker_of(int i, int j) const {
  return order_.square(i / grid_.rows(), j / grid_.columns()) % workers_;
}

}  // namespace apps
