#pragma once
// Monte Carlo transport of particles by energy bands (EBMS: K. G. Felker et al., 2013).

#include <shoal/memory.hpp>

#include <functional>

#include "ebms/physics.hpp"

namespace ebms {

struct Result {
  Tally tally;  // of all ranks
  double seconds = 0;
  double waiting = 0;  // for data, the mean of the ranks
};

/// Called by tasks, for each particle of the rank in each band; `has_left` as track() returns it.
using Observer = std::function<void(const Particle& particle, int band, bool has_left)>;

/// All ranks hold cross sections and track particles. Collective.
[[nodiscard]] Result transport(shoal::World& world, const Options& options,
                               const Observer& observer = {});

}  // namespace ebms
