#pragma once
// The clock behind sample_ticks(), and its hook for tests of clocks that do not agree.

#include <cstdint>
#include <string>

namespace shoal::env {

/// Name of the clock: equal in two processes that share it.
std::string raw_clock_name();

/// Nanoseconds of that clock. In a process with the environment variable TEST_CLOCK_SKEW it is
/// seconds ahead of CLOCK_MONOTONIC_RAW and drifts by up to 50 ppm, by the number of the process.
std::uint64_t as_raw_clock(std::uint64_t monotonic_raw_ns);

}  // namespace shoal::env
