
#include "common/critical_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace apps_critical_path_test {

using apps::CriticalPath;
using apps::KernelTimes;

/// Longest paths by walking the graph of the factorization; exponential, for small n.
class Oracle {
 public:
  explicit Oracle(int n) : n_(n) {}

  [[nodiscard]] double potrf(int k) const {
    double after = 0;
    for (int i = k + 1; i < n_; ++i) after = std::max(after, trsm(i, k));
    return KernelTimes{}.potrf + after;
  }
  [[nodiscard]] double trsm(int i, int k) const {
    double after = 0;
    for (int j = k + 1; j <= i; ++j) after = std::max(after, gemm(k, i, j));
    for (int below = i + 1; below < n_; ++below) after = std::max(after, gemm(k, below, i));
    return KernelTimes{}.trsm + after;
  }
  [[nodiscard]] double gemm(int k, int i, int j) const {
    const double own = i == j ? KernelTimes{}.syrk : KernelTimes{}.gemm;
    if (k + 1 < j) return own + gemm(k + 1, i, j);
    return own + (i == j ? potrf(i) : trsm(i, j));
  }

 private:
  int n_;
};

TEST(AppsCriticalPath, Lengths_AreThoseOfTheLongestPathsOfTheGraph) {
  for (int n = 1; n <= 7; ++n) {
    const CriticalPath paths(n);
    const Oracle oracle(n);
    for (int k = 0; k < n; ++k) {
      EXPECT_EQ(paths.potrf(k), oracle.potrf(k)) << n << ": potrf " << k;
      for (int i = k + 1; i < n; ++i) {
        EXPECT_EQ(paths.trsm(i, k), oracle.trsm(i, k)) << n << ": trsm " << i << ' ' << k;
        for (int j = k + 1; j <= i; ++j) {
          EXPECT_EQ(paths.gemm(k, i, j), oracle.gemm(k, i, j))
              << n << ": gemm " << k << ' ' << i << ' ' << j;
        }
      }
    }
  }
}

TEST(AppsCriticalPath, Lengths_FallAlongThePanelThatComesNext) {
  const CriticalPath paths(20);
  for (int k = 0; k + 2 < 20; ++k) {
    EXPECT_GT(paths.potrf(k), paths.trsm(k + 1, k));
    EXPECT_GT(paths.trsm(k + 1, k), paths.gemm(k, k + 1, k + 1));
    EXPECT_GT(paths.gemm(k, k + 1, k + 1), paths.potrf(k + 1));
  }
}

}  // namespace apps_critical_path_test
