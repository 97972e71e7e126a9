#include <shoal/detail/team/rank_set.hpp>

#include <shoal/detail/base/check.hpp>

#include <cstdint>
#include <memory>

#include "team/rank_map_table.hpp"

namespace shoal {

RankSet::RankSet(const std::vector<Rank>& ranks)
    : count_(static_cast<int>(ranks.size())), runs_(messaging::compress(ranks)) {}

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

messaging::SharedRankMap RankSet::map(const messaging::SharedRankMap& outer, int outer_size,
                                      messaging::RankMapTable& table) const {
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
  return std::make_shared<messaging::FunctionRankMap<decltype(to_outer), decltype(from_outer)>>(
      outer, count, to_outer, from_outer);
}

}  // namespace shoal
