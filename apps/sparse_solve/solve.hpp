#pragma once
// Sparse triangular solve by tasks, each of a row, with the solution in global memory.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <vector>

#include "sparse_solve/factor.hpp"

namespace sparse_solve {

struct Solution {
  std::vector<double> x;  // on rank 0
  double seconds = 0;
  std::uint64_t puts = 0;  // of values to other ranks, of all ranks
};

/// Solves factor x = b. Rows are dealt to the ranks in blocks of `block`, round robin. A row is
/// solved when the elements that it needs are there; each element is put, with a signal, to the
/// ranks that need it. Collective.
[[nodiscard]] Solution solve(shoal::World& world, const LowerFactor& factor,
                             const std::vector<double>& b, int block);

}  // namespace sparse_solve
