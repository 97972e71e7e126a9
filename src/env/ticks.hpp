#pragma once
// Clock of traces: cheap ticks, and samples that relate them to nanoseconds.

#include <cstdint>
#include <string>

namespace shoal::env {

enum class TickSource : std::uint8_t {
  tsc,           // invariant time stamp counter: one frequency, the same on all cores
  monotonic_raw  // CLOCK_MONOTONIC_RAW, in nanoseconds
};

/// Source that this machine offers: the counter if the processor says that it is invariant.
[[nodiscard]] TickSource tick_source();

/// CLOCK_MONOTONIC_RAW in nanoseconds. **Cost**: about 25 ns.
[[nodiscard]] std::uint64_t monotonic_raw_ns();

/// Ticks of the source. Any thread. **Cost**: one instruction with the counter.
[[nodiscard]] inline std::uint64_t read_ticks(TickSource source) {
#if defined(__x86_64__)
  if (source == TickSource::tsc) [[likely]]
    return __builtin_ia32_rdtsc();  // <x86intrin.h> takes long to compile
#endif
  static_cast<void>(source);
  return monotonic_raw_ns();
}

/// One moment on two clocks. The true value of `ticks` at `raw_ns` differs by at most
/// `uncertainty_ticks`.
struct TickSample {
  std::uint64_t ticks = 0;
  std::uint64_t raw_ns = 0;
  std::uint64_t uncertainty_ticks = 0;
};

/// The tightest of several samples. **Cost**: a microsecond.
[[nodiscard]] TickSample sample_ticks(TickSource source);

/// Name of the clock: equal in two processes that share it.
std::string raw_clock_name();

/// Nanoseconds of that clock. In a process with the environment variable TEST_CLOCK_SKEW it is
/// seconds ahead of CLOCK_MONOTONIC_RAW and drifts by up to 50 ppm, by the number of the process.
std::uint64_t as_raw_clock(std::uint64_t monotonic_raw_ns);

}  // namespace shoal::env
