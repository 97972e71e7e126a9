#include "env/crowding.hpp"

#include <shoal/detail/env/env.hpp>

namespace shoal::env {

namespace {
constexpr std::uint64_t kLongYieldNs = 2'000'000;  // another process had its turn
constexpr std::uint64_t kCrowdedNs = 100'000'000;  // then a yield tries again
}  // namespace

// A single long yield may be due to a task of another process of the run.
std::uint64_t Crowding::yield(Env& env) {
  const std::uint64_t begin_ns = env.now_ns();
  env.yield();
  const std::uint64_t end_ns = env.now_ns();
  const bool was_long = end_ns - begin_ns >= kLongYieldNs;
  const bool again = last_was_long_.exchange(was_long, std::memory_order_relaxed);
  if (was_long && again) {
    until_ns_.store(end_ns + kCrowdedNs, std::memory_order_relaxed);
  } else if (const std::uint64_t until_ns = until_ns_.load(std::memory_order_relaxed);
             until_ns != 0 && until_ns <= end_ns) {
    until_ns_.store(0, std::memory_order_relaxed);  // over: is_crowded() needs no clock any more
  }
  return end_ns;
}

bool Crowding::is_crowded(Env& env) const {
  const std::uint64_t until_ns = until_ns_.load(std::memory_order_relaxed);
  return until_ns != 0 && env.now_ns() < until_ns;
}

}  // namespace shoal::env
