#pragma once
// Sparse triangular solve by tasks, each of a block of rows, with the solution in global memory.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <vector>

#include "sparse_solve/factor.hpp"

namespace sparse_solve {

struct Solution {
  std::vector<double> x;  // on rank 0
  double seconds = 0;
  std::uint64_t puts = 0;  // of blocks to other ranks, of all ranks
};

/// Solves factor x = b. Rows are dealt to the ranks in blocks of `block`, round robin. A block is
/// solved when the elements that it needs are there; its own are put, with a signal, to the ranks
/// that need them. Collective.
[[nodiscard]] Solution solve(shoal::World& world, const LowerFactor& factor,
                             const std::vector<double>& b, int block);

}  // namespace sparse_solve
