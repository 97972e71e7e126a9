#pragma once
// Programs in simulated worlds.

#include <shoal/shoal.hpp>

#include "runtime/simulated_world.hpp"

namespace shoal::testing {

/// Number of ranks of a simulated world on which it did not throw: run() itself does not.
template <class F>
int succeeds_on(const runtime::Config& config, F function) {
  int count = 0;
  runtime::SimulatedWorld(config).run([&](World& rank) {
    function(rank);
    ++count;
    return 0;
  });
  return count;
}

}  // namespace shoal::testing
