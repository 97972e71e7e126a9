#include "env/ticks.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "env/host.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace shoal::env {

namespace {

bool is_skewed() {
  return std::getenv("TEST_CLOCK_SKEW") != nullptr;  // NOLINT(concurrency-mt-unsafe): only read
}

}  // namespace

std::string raw_clock_name() {
  return is_skewed() ? fmt::format("{}, process {}", host_name(), process_id()) : host_name();
}

// Offset and drift: any function of the process that differs between neighbours.
std::uint64_t as_raw_clock(std::uint64_t monotonic_raw_ns) {
  if (!is_skewed()) return monotonic_raw_ns;
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kOffsetsNs = 10'000'000'000;
  const std::uint64_t bits = (static_cast<std::uint64_t>(process_id()) * kMix) >> 20U;
  const double drift = (static_cast<double>(bits % 1001) / 500 - 1) * 50e-6;
  const auto drifted = static_cast<std::int64_t>(static_cast<double>(monotonic_raw_ns) * drift);
  return monotonic_raw_ns + bits % kOffsetsNs + static_cast<std::uint64_t>(drifted);
}

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
