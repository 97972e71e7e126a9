#pragma once
// Time steps of bodies that attract each other, by the algorithm of Barnes and Hut.

#include <shoal/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "barnes_hut/bodies.hpp"
#include "barnes_hut/tree.hpp"

namespace barnes_hut {

struct Options {
  std::size_t bodies = 2000;
  int steps = 2;
  double tolerance = 0.5;  // a cell is one mass when its width is below this share of its distance
  double step_time = 0.025;
  std::size_t group = 32;       // bodies of one task
  std::size_t cache_bytes = 0;  // of copies of remote cells; 0: any number
  std::uint64_t seed = 1;
};

struct Result {
  double error = 0;  // root mean square of the accelerations' differences to a direct sum, relative
  double seconds = 0;
  std::uint64_t fetches = 0;  // of cells, by all ranks
  std::uint64_t hits = 0;
  std::uint64_t interactions = 0;  // masses that were added to accelerations
  std::uint64_t checksum = 0;      // of all bodies at the end
};

/// Collective.
[[nodiscard]] Result simulate(shoal::World& world, const Options& options);

}  // namespace barnes_hut
