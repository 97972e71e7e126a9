#pragma once
// Monte Carlo transport of particles by energy bands (EBMS: K. G. Felker et al., 2013).

#include <shoal/memory.hpp>

#include "ebms/physics.hpp"

namespace ebms {

struct Result {
  Tally tally;  // of all ranks
  double seconds = 0;
  double waiting = 0;  // for data, the mean of the ranks
};

/// All ranks hold cross sections and track particles. Collective.
[[nodiscard]] Result transport(shoal::World& world, const Options& options);

}  // namespace ebms
