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

}  // namespace shoal::testing
