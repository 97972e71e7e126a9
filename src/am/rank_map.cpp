#include <shoal/am/rank_map.hpp>

#include <shoal/base/check.hpp>

#include <algorithm>
#include <cstddef>

namespace shoal::messaging {

namespace {

class ListRankMap final : public RankMap {
 public:
  explicit ListRankMap(std::vector<int> world_ranks) : world_ranks_(std::move(world_ranks)) {
    members_.reserve(world_ranks_.size());
    for (int i = 0; i < size(); ++i) {
      members_.emplace_back(world_ranks_[static_cast<std::size_t>(i)], i);
    }
    std::sort(members_.begin(), members_.end());
    const auto same =
        std::adjacent_find(members_.begin(), members_.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; });
    SHOAL_CHECK(same == members_.end(), "rank {} is twice among the ranks of a team", same->first);
  }

  [[nodiscard]] int size() const override { return static_cast<int>(world_ranks_.size()); }
  [[nodiscard]] Rank to_world(Rank member) const override {
    return Rank(world_ranks_[static_cast<std::size_t>(member.value())]);
  }
  [[nodiscard]] Rank from_world(Rank rank) const override {
    const auto it = std::lower_bound(members_.begin(), members_.end(), std::pair(rank.value(), 0));
    return it != members_.end() && it->first == rank.value() ? Rank(it->second) : Rank(-1);
  }

 private:
  const std::vector<int> world_ranks_;
  std::vector<std::pair<int, int>> members_;  // world rank, rank in the team; sorted
};

}  // namespace

SharedRankMap list_ranks(const SharedRankMap& outer, int outer_size,
                         const std::vector<Rank>& ranks) {
  std::vector<int> world_ranks;
  world_ranks.reserve(ranks.size());
  for (const Rank rank : ranks) {
    SHOAL_CHECK(rank >= 0 && rank < outer_size,
                "rank {} of a team is out of range: it is made on ranks 0 to {}", rank.value(),
                outer_size - 1);
    world_ranks.push_back(outer == nullptr ? rank.value() : outer->to_world(rank).value());
  }
  return std::make_shared<ListRankMap>(std::move(world_ranks));
}

}  // namespace shoal::messaging
