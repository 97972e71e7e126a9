#include "net/mpi/mpi_rest.hpp"

#include <algorithm>

#include "env/host.hpp"

namespace shoal::net {

namespace {
// Arrivals announce themselves to polls only, so the engine looks again after a while; the longer
// nothing came, the longer the while.
constexpr int kSpins = 64;
constexpr int kYields = 64;
constexpr std::uint64_t kFirstSleepNs = 10'000;
constexpr std::uint64_t kLongestSleepNs = 200'000;
}  // namespace

std::uint64_t MpiRest::next_sleep_ns() {
  if (++idle_polls_ <= kSpins) return 0;
  if (idle_polls_ <= kSpins + kYields) {
    if (crowding_.is_crowded(env_)) return kFirstSleepNs;
    crowding_.yield(env_);
    return 0;
  }
  const int doublings = std::min(idle_polls_ - kSpins - kYields - 1, 10);
  return std::min(kFirstSleepNs << doublings, kLongestSleepNs);
}

void MpiRest::pause() {
  if (const std::uint64_t sleep_ns = next_sleep_ns(); sleep_ns > 0) env::sleep_for(sleep_ns);
}

}  // namespace shoal::net
