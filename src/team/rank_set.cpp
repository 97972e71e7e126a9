#include <shoal/detail/team/rank_set.hpp>

#include <shoal/detail/base/check.hpp>

#include <cstddef>
#include <memory>

#include "am/rank_map_table.hpp"

namespace shoal {

RankSet::RankSet(const std::vector<Rank>& ranks) : count_(static_cast<int>(ranks.size())) {
  if (ranks.empty()) return;
  first_ = ranks.front().value();
  stride_ = ranks.size() > 1 ? ranks[1].value() - first_ : 1;
  for (int i = 0; i < count_; ++i) {
    const Rank rank = ranks[static_cast<std::size_t>(i)];
    list_.push_back(rank.value());
  }
  for (int i = 0; i < count_; ++i) {
    if (list_[static_cast<std::size_t>(i)] != first_ + i * stride_) return;
  }
  list_.clear();
}

Rank RankSet::operator[](int index) const {
  SHOAL_CHECK(index >= 0 && index < count_, "there are {} ranks, and none with the index {}",
              count_, index);
  return Rank(list_.empty() ? first_ + index * stride_ : list_[static_cast<std::size_t>(index)]);
}

messaging::SharedRankMap RankSet::map(const messaging::SharedRankMap& outer, int outer_size,
                                      messaging::RankMapTable& table) const {
  SHOAL_CHECK(count_ > 0, "a team of no ranks");
  if (!list_.empty()) {
    std::vector<Rank> ranks;
    ranks.reserve(list_.size());
    for (const int rank : list_) ranks.emplace_back(rank);
    return table.list(outer, outer_size, ranks);
  }
  const int first = first_;
  const int count = count_;
  const int stride = stride_;
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
  return std::make_shared<messaging::FunctionRankMap<decltype(to_outer), decltype(from_outer)>>(
      outer, count, to_outer, from_outer);
}

}  // namespace shoal
