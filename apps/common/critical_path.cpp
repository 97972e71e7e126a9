#include "common/critical_path.hpp"

#include <algorithm>

namespace apps {

// After trsm(i, k) come the updates by the panel k of the row i: gemm(k, i, j) with k < j < i; of
// the column i: gemm(k, i', i) with i' > i; and of the diagonal: syrk(k, i, i). Panels are visited
// from the last to the first, so that all that comes later is known. For the panel k,
//   row[i]    = max over j in k+1..i-1 of gemm(k, i, j), one gemm more than for the panel k + 1;
//   column[i] = max over i' > i of trsm(i', i), the last link of the chains of the column i.
CriticalPath::CriticalPath(int n, const KernelTimes& times)
    : times_(times), potrf_(static_cast<std::size_t>(n)), trsm_(index(n, 0)) {
  std::vector<double> row(static_cast<std::size_t>(n), 0);
  std::vector<double> column(static_cast<std::size_t>(n), 0);
  for (int k = n - 1; k >= 0; --k) {
    double& last = column[static_cast<std::size_t>(k)];
    for (int i = k + 1; i < n; ++i) {
      double& in_row = row[static_cast<std::size_t>(i)];
      const double in_column = column[static_cast<std::size_t>(i)];
      if (k + 1 < i) in_row = times_.gemm + std::max(in_row, trsm(i, k + 1));
      double after = std::max(gemm(k, i, i), in_row);
      if (in_column > 0) after = std::max(after, times_.gemm * (i - k) + in_column);
      trsm_[index(i, k)] = times_.trsm + after;
      last = std::max(last, trsm(i, k));
    }
    potrf_[static_cast<std::size_t>(k)] = times_.potrf + last;
  }
}

}  // namespace apps
