#pragma once
// Ranks that a team is made of.

#include <shoal/archive.hpp>
#include <shoal/detail/team/rank_map.hpp>
#include <shoal/rank.hpp>
#include <shoal/recipients.hpp>

#include <concepts>
#include <initializer_list>
#include <vector>

namespace shoal::team {
class RankMapTable;
}

namespace shoal {

/// Ranks of a team, in an order; travels in messages, as recipients of multicasts do: an arithmetic
/// progression takes no more memory than one rank.
class RankSet {
 public:
  RankSet() = default;
  /// These ranks, in this order.
  RankSet(const std::vector<Rank>& ranks);  // NOLINT(google-explicit-constructor): as a list
  /// These ranks, in this order.
  RankSet(std::initializer_list<Rank> ranks) : RankSet(std::vector<Rank>(ranks)) {}

  /// first, first + stride, ...
  [[nodiscard]] static RankSet range(Rank first, int count, int stride = 1) {
    return {first, count, stride};
  }
  /// The ranks among 0 to size - 1 for which `holds(rank)`.
  template <std::predicate<Rank> F>
  [[nodiscard]] static RankSet where(int size, F holds) {
    std::vector<Rank> ranks;
    for (int rank = 0; rank < size; ++rank) {
      if (holds(Rank(rank))) ranks.emplace_back(rank);
    }
    return ranks;
  }

  /// Number of ranks.
  [[nodiscard]] int size() const { return count_; }
  /// 0 <= index < size().
  [[nodiscard]] Rank operator[](int index) const;
  /// Returns all ranks of the set, in order.
  [[nodiscard]] std::vector<Rank> list() const { return team::expand(runs_); }
  [[nodiscard]] bool operator==(const RankSet&) const = default;

  /// @cond internals
  /// Map of a team with these members on ranks of `outer`, of which there are `outer_size`.
  /// Ranks at equal distances take no memory for each; others are shared through `table`.
  /// **Errors**: CheckError for a rank that does not exist, or is listed twice.
  [[nodiscard]] team::SharedRankMap map(const team::SharedRankMap& outer, int outer_size,
                                        team::RankMapTable& table) const;
  /// @endcond

  /// Lets sets of ranks travel in messages.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count_, runs_);
  }

 private:
  RankSet(Rank first, int count, int stride);

  int count_ = 0;
  std::vector<team::RankRun> runs_;
};

}  // namespace shoal
