#pragma once
// Ranks of a team and the ranks of the world behind them.

#include <shoal/rank.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace shoal::team {

/// Members of a team, in the order of their ranks in the team. Shared by teams over the same ranks.
class RankMap {
 public:
  RankMap() = default;
  virtual ~RankMap() = default;
  RankMap(const RankMap&) = delete;
  RankMap& operator=(const RankMap&) = delete;

  [[nodiscard]] virtual int size() const = 0;
  /// Rank in the world of the team's rank `member`, 0 <= member < size().
  [[nodiscard]] virtual Rank to_world(Rank member) const = 0;
  /// Rank in the team of the world's rank `rank`; negative for a rank that is no member.
  [[nodiscard]] virtual Rank from_world(Rank rank) const = 0;
};
/// nullptr: all ranks of the world, as they are.
using SharedRankMap = std::shared_ptr<const RankMap>;

/// Ranks by their ranks in `outer`. **Errors**: CheckError for a rank that `outer`, of `outer_size`
/// ranks, does not have, and for one that is listed twice.
[[nodiscard]] SharedRankMap list_ranks(const SharedRankMap& outer, int outer_size,
                                       const std::vector<Rank>& ranks);

/// Ranks by two functions; see Team.
template <class ToOuter, class FromOuter>
class FunctionRankMap final : public RankMap {
 public:
  FunctionRankMap(SharedRankMap outer, int size, ToOuter to_outer, FromOuter from_outer)
      : outer_(std::move(outer)),
        size_(size),
        to_outer_(std::move(to_outer)),
        from_outer_(std::move(from_outer)) {}

  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] Rank to_world(Rank member) const override {
    const Rank outer(static_cast<int>(to_outer_(member.value())));
    return outer_ == nullptr ? outer : outer_->to_world(outer);
  }
  [[nodiscard]] Rank from_world(Rank rank) const override {
    const Rank outer = outer_ == nullptr ? rank : outer_->from_world(rank);
    return outer < 0 ? outer : Rank(static_cast<int>(from_outer_(outer.value())));
  }

 private:
  const SharedRankMap outer_;
  const int size_;
  const ToOuter to_outer_;
  const FromOuter from_outer_;
};

}  // namespace shoal::team
