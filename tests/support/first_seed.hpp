#pragma once
// Seeds of tests that try others in each run.

#include <cstdint>
#include <cstdio>
#include <random>

namespace shoal::testing {

/// The first of the seeds of a test; printed, so that a failure can be made to happen again.
inline std::uint64_t first_seed() {
  const std::uint64_t seed = std::random_device()();
  std::printf("seeds from %llu on\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace shoal::testing
