#include "env/ticks.hpp"

#include "env/raw_clock.hpp"

#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace shoal::env {

TickSource tick_source() {
#if defined(__x86_64__)
  constexpr unsigned kPowerManagement = 0x80000007U;
  constexpr unsigned kInvariantTsc = 1U << 8U;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTsc) != 0) {
    return TickSource::tsc;
  }
#endif
  return TickSource::monotonic_raw;
}

std::uint64_t monotonic_raw_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

TickSample sample_ticks(TickSource source) {
  constexpr int kAttempts = 16;
  TickSample best;
  for (int i = 0; i < kAttempts; ++i) {
    const std::uint64_t before = read_ticks(source);
    const std::uint64_t raw_ns = monotonic_raw_ns();
    const std::uint64_t width = read_ticks(source) - before;
    if (i > 0 && width / 2 >= best.uncertainty_ticks) continue;
    best = {before + width / 2, as_raw_clock(raw_ns), width / 2};
  }
  return best;
}

}  // namespace shoal::env
