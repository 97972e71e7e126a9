#pragma once
// The settings of simulated worlds in tests.

#include "runtime/config.hpp"

#include <cstddef>
#include <cstdint>

namespace shoal::testing {

/// Small stacks, so that many worlds with many fibers are cheap.
inline runtime::Config sim_config(int ranks, int workers, std::uint64_t seed) {
  runtime::Config config;
  config.ranks = ranks;
  config.workers = workers;
  config.sim_seed = seed;
  config.stack_bytes = std::size_t{256} << 10;
  config.args = {"test"};
  return config;
}

/// The address space has room for some 16 stacks of a rank. Not for sanitizers, which need it.
inline runtime::Config few_stacks_config(int ranks, std::uint64_t seed) {
  runtime::Config config = sim_config(ranks, 1, seed);
  config.stack_bytes = std::size_t{5} << 40;
  return config;
}

}  // namespace shoal::testing
