#pragma once
// Priorities of the tasks of a tiled Cholesky factorization: the length of the longest path from a
// task to the end of the graph, the task included. Tasks on the critical path run first.
//
// Source: the ALAP schedule of Beaumont, Langou, Quach, Shilova, "A makespan lower bound for the
// scheduling of the tiled Cholesky factorization" (reference [5] of the TaskTorrent paper): run on
// unlimited processors, a task that starts as late as possible starts this long before the end.

#include <cstddef>
#include <vector>

namespace apps {

/// How long the kernels take on tiles of order b; by default in units of b^3 / 3 flops.
struct KernelTimes {
  double potrf = 1;
  double trsm = 3;
  double syrk = 3;
  double gemm = 6;
};

/// Longest paths for n x n tiles of equal size. Updates of one tile form a chain in k, as in the
/// factorization itself.
class CriticalPath {
 public:
  /// Cost: O(n^2) time and memory.
  explicit CriticalPath(int n, const KernelTimes& times = {});

  [[nodiscard]] double potrf(int k) const { return potrf_[static_cast<std::size_t>(k)]; }
  /// For k < i.
  [[nodiscard]] double trsm(int i, int k) const { return trsm_[index(i, k)]; }
  /// The update of the tile (i, j) by the panel k, for k < j <= i; a syrk if i == j.
  [[nodiscard]] double gemm(int k, int i, int j) const {
    return i == j ? times_.syrk * (i - k) + potrf(i) : times_.gemm * (j - k) + trsm(i, j);
  }

 private:
  [[nodiscard]] static std::size_t index(int i, int k) {
    return static_cast<std::size_t>(i) * (static_cast<std::size_t>(i) + 1) / 2 +
           static_cast<std::size_t>(k);
  }

  const KernelTimes times_;
  std::vector<double> potrf_;
  std::vector<double> trsm_;
};

}  // namespace apps
