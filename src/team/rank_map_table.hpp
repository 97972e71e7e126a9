#pragma once
// Rank maps of the teams of one rank, shared by teams over the same ranks.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/rank_map.hpp>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

namespace shoal::team {

/// Table of the rank maps of a rank, a service of the Messenger. It does not extend the lifetime of
/// maps. **Caller**: any thread. **Source**: STAPL-RTS thesis, 7.5.3.
class RankMapTable {
 public:
  /// Returns the map that list_ranks() makes; teams over the same ranks of the world, in one order,
  /// get the same map. **Cost**: linear in the number of ranks, without sorting, if there is such a
  /// map.
  [[nodiscard]] SharedRankMap list(const SharedRankMap& outer, int outer_size,
                                   const std::vector<Rank>& ranks);
  /// Returns the number of maps in the table, including maps of teams that have ended.
  [[nodiscard]] std::size_t size() const;

 private:
  static constexpr std::size_t kSweepMin = 64;

  mutable sync::Mutex mutex_;
  /// By a hash of the ranks.
  std::unordered_multimap<std::size_t, std::weak_ptr<const RankMap>> maps_ SHOAL_GUARDED_BY(mutex_);
  std::size_t sweep_at_ SHOAL_GUARDED_BY(mutex_) = kSweepMin;
};

}  // namespace shoal::team
