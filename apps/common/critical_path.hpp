#pragma once
// Priorities of the tasks of a tiled Cholesky factorization: the length of the longest path from a
// task to the end of the graph, the task included. What is on the critical path runs first.
//
// Source: the ALAP schedule of Beaumont, Langou, Quach, Shilova, "A makespan lower bound for the
// scheduling of the tiled Cholesky factorization" (reference [5] of the TaskTorrent paper): run on
// unlimited processors, a task that starts as late as possible starts this long before the end.

#include <cstddef>
#include <vector>

namespace apps {

/// Longest paths for n x n tiles of equal size, in units of b^3 / 3 flops (b: order of a tile).
/// Updates of one tile form a chain in k, as in the factorization itself.
class CriticalPath {
 public:
  static constexpr int kPotrf = 1;
  static constexpr int kTrsm = 3;
  static constexpr int kSyrk = 3;
  static constexpr int kGemm = 6;

  /// Cost: O(n^2) time and memory.
  explicit CriticalPath(int n);

  [[nodiscard]] int potrf(int k) const { return potrf_[static_cast<std::size_t>(k)]; }
  /// For k < i.
  [[nodiscard]] int trsm(int i, int k) const { return trsm_[index(i, k)]; }
  /// The update of the tile (i, j) by the panel k, for k < j <= i; a syrk if i == j.
  [[nodiscard]] int gemm(int k, int i, int j) const {
    return i == j ? kSyrk * (i - k) + potrf(i) : kGemm * (j - k) + trsm(i, j);
  }

 private:
  [[nodiscard]] static std::size_t index(int i, int k) {
    return static_cast<std::size_t>(i) * (static_cast<std::size_t>(i) + 1) / 2 +
           static_cast<std::size_t>(k);
  }

  std::vector<int> potrf_;
  std::vector<int> trsm_;
};

}  // namespace apps
