#include "sim/order.hpp"

#include <algorithm>

namespace shoal::sim {

namespace {

// Minimum duration that is stretched: an operation that takes no time could not be delayed
// otherwise.
constexpr std::uint64_t kStretchedMinNs = 100;
constexpr std::uint64_t kSlowestDoublings = 5;  // of a worker's steps, to begin with
// Delays of one worker do not add up: otherwise it would exceed any time limit.
constexpr std::uint64_t kSlownessMax = 256ULL << kSlowestDoublings;

}  // namespace

Order::Order(OrderKind kind, std::uint64_t seed, int ranks, int workers_per_rank)
    : kind_(kind), workers_per_rank_(workers_per_rank), random_(seed) {
  const auto rank_count = static_cast<std::uint64_t>(ranks);
  victim_ = static_cast<int>(draw(rank_count));
  victim_target_ = static_cast<int>(draw(rank_count));
  if (kind_ != OrderKind::priorities) return;
  for (int i = 0; i < ranks * workers_per_rank; ++i)
    slowness_.push_back(1ULL << draw(kSlowestDoublings + 1));
  // Small programs take hundreds of steps, large ones many more: any scale may be the right one.
  for (int i = 0; i < 3; ++i) change_points_.push_back(draw(1ULL << (4 + draw(13))));
}

std::uint64_t Order::step_ns(int rank, int worker, std::uint64_t cost_ns) {
  ++steps_;
  const std::uint64_t stretched = std::max(cost_ns, kStretchedMinNs);
  switch (kind_) {
    case OrderKind::uniform:
      return stretched * (1 + draw(16));
    case OrderKind::priorities: {
      const auto actor =
          static_cast<std::size_t>(rank) * static_cast<std::size_t>(workers_per_rank_) +
          static_cast<std::size_t>(worker);
      std::uint64_t& slowness = slowness_[actor];
      const bool set_back = std::ranges::find(change_points_, steps_) != change_points_.end();
      if (set_back) slowness = std::min(slowness * 256, kSlownessMax);
      const std::uint64_t result = stretched * slowness;
      if (!set_back && slowness > 64) slowness /= 2;  // so that every step comes in the end
      return result;
    }
    case OrderKind::slow_rank:
      return stretched * (rank == victim_ ? 64 : 1 + draw(2));
    case OrderKind::time:
    case OrderKind::slow_link:
    case OrderKind::late:
      return cost_ns;
  }
  return cost_ns;
}

std::uint64_t Order::travel_ns(int source, int target, std::uint64_t latency_ns) {
  constexpr std::uint64_t kFar = 1000;
  const std::uint64_t stretched = std::max(latency_ns, kStretchedMinNs);
  switch (kind_) {
    case OrderKind::uniform:
      return stretched * (1 + draw(64));
    case OrderKind::slow_link:
      return source == victim_ && target == victim_target_ ? stretched * kFar : latency_ns;
    case OrderKind::late:
      return draw(8) == 0 ? stretched * kFar : latency_ns;
    case OrderKind::time:
    case OrderKind::priorities:
    case OrderKind::slow_rank:
      return latency_ns;
  }
  return latency_ns;
}

}  // namespace shoal::sim
