#include "env/raw_clock.hpp"

#include "env/host.hpp"

#include <fmt/format.h>

#include <cstdlib>

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

}  // namespace shoal::env
