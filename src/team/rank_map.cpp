#include <shoal/detail/base/check.hpp>
#include <shoal/rank_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "team/rank_map_table.hpp"

namespace shoal::team {

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
  [[nodiscard]] const std::vector<int>& world_ranks() const { return world_ranks_; }

 private:
  const std::vector<int> world_ranks_;
  std::vector<std::pair<int, int>> members_;  // world rank, rank in the team; sorted
};

std::vector<int> world_ranks_of(const SharedRankMap& outer, int outer_size,
                                const std::vector<Rank>& ranks) {
  std::vector<int> world_ranks;
  world_ranks.reserve(ranks.size());
  for (const Rank rank : ranks) {
    SHOAL_CHECK(rank >= 0 && rank < outer_size,
                "rank {} of a team is out of range: it is made on ranks 0 to {}", rank.value(),
                outer_size - 1);
    world_ranks.push_back(outer == nullptr ? rank.value() : outer->to_world(rank).value());
  }
  return world_ranks;
}

std::size_t hash_of(const std::vector<int>& world_ranks) {
  const auto* const bytes = reinterpret_cast<const char*>(world_ranks.data());
  return std::hash<std::string_view>()({bytes, world_ranks.size() * sizeof(int)});
}

}  // namespace

SharedRankMap list_ranks(const SharedRankMap& outer, int outer_size,
                         const std::vector<Rank>& ranks) {
  return std::make_shared<ListRankMap>(world_ranks_of(outer, outer_size, ranks));
}

SharedRankMap RankMapTable::list(const SharedRankMap& outer, int outer_size,
                                 const std::vector<Rank>& ranks) {
  std::vector<int> world_ranks = world_ranks_of(outer, outer_size, ranks);
  const std::size_t hash = hash_of(world_ranks);
  return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) -> SharedRankMap {
    const auto [begin, end] = maps_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      SharedRankMap known = it->second.lock();
      if (known == nullptr) continue;
      // the table holds no others
      if (static_cast<const ListRankMap&>(*known).world_ranks() == world_ranks) return known;
    }
    auto made = std::make_shared<ListRankMap>(std::move(world_ranks));
    if (maps_.size() >= sweep_at_) {
      std::erase_if(maps_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = std::max(kSweepMin, 2 * maps_.size());
    }
    maps_.emplace(hash, made);
    return made;
  });
}

std::size_t RankMapTable::size() const {
  const sync::Lock lock(mutex_);
  return maps_.size();
}

}  // namespace shoal::team

namespace shoal {

RankSet::RankSet(const std::vector<Rank>& ranks)
    : count_(static_cast<int>(ranks.size())), runs_(team::compress(ranks)) {}

RankSet::RankSet(Rank first, int count, int stride) : count_(count) {
  if (count < 1) return;
  runs_.push_back({first.value(), count == 1 ? 1 : stride, static_cast<std::uint32_t>(count)});
}

Rank RankSet::operator[](int index) const {
  SHOAL_CHECK(index >= 0 && index < count_, "there are {} ranks, and none with the index {}",
              count_, index);
  auto run = runs_.begin();
  for (; index >= static_cast<int>(run->count); ++run) index -= static_cast<int>(run->count);
  return Rank(run->first + run->stride * index);
}

team::SharedRankMap RankSet::map(const team::SharedRankMap& outer, int outer_size,
                                 team::RankMapTable& table) const {
  SHOAL_CHECK(count_ > 0, "a team of no ranks");
  if (runs_.size() > 1) return table.list(outer, outer_size, list());
  const int first = runs_.front().first;
  const int count = count_;
  const int stride = runs_.front().stride;
  SHOAL_CHECK(count == 1 || stride != 0, "rank {} is twice among the ranks of a team", first);
  for (const int rank : {first, first + (count - 1) * stride}) {
    SHOAL_CHECK(rank >= 0 && rank < outer_size,
                "rank {} of a team is out of range: it is made on ranks 0 to {}", rank,
                outer_size - 1);
  }
  const auto to_outer = [=](int member) { return first + member * stride; };
  const auto from_outer = [=](int rank) {
    const int distance = rank - first;
    if (distance % stride != 0) return -1;
    const int member = distance / stride;
    return member >= 0 && member < count ? member : -1;
  };
  return std::make_shared<team::FunctionRankMap<decltype(to_outer), decltype(from_outer)>>(
      outer, count, to_outer, from_outer);
}

}  // namespace shoal
