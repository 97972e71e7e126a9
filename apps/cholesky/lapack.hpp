#pragma once
// The same factorization by LAPACK in one process, for comparison.

#include <shoal/shoal.hpp>

#include <vector>

#include "cholesky/spd_matrix.hpp"

namespace cholesky {

struct LapackRun {
  int threads = 0;
  std::vector<double> seconds;  // of each run
};

/// Factors `matrix` on rank 0 while the other ranks wait, `repeat` times. BLAS uses as many threads
/// as the ranks of this machine have workers, but no more than there are processors.
/// Blocks: collective. Returns: the runs on rank 0, nothing elsewhere.
LapackRun run_lapack(shoal::World& world, const SpdMatrix& matrix, int repeat);

}  // namespace cholesky
