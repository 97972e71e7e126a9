#pragma once
// Ranks of a team, as one of its members sees them.

#include <shoal/detail/team/rank_map.hpp>
#include <shoal/rank.hpp>

#include <cstdint>

namespace shoal::messaging {

/// Team of a channel.
struct ChannelTeam {
  std::uint64_t id = 0;  // 0: the world
  SharedRankMap ranks;   // nullptr: the world's
};

class TeamRanks {
 public:
  TeamRanks(ChannelTeam team, Rank world_rank, int world_size);

  [[nodiscard]] std::uint64_t id() const { return team_.id; }
  [[nodiscard]] bool is_world() const { return team_.ranks == nullptr; }
  [[nodiscard]] const SharedRankMap& map() const { return team_.ranks; }
  /// Rank of this rank in the team.
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// The team has this rank.
  [[nodiscard]] bool has(Rank member) const { return member >= 0 && member < size_; }
  /// **Errors**: CheckError when the team has no such rank, or its function gives none for it.
  [[nodiscard]] Rank to_world(Rank member) const;
  /// Returns the rank in the team of a rank of the world; negative for one that is no member.
  [[nodiscard]] Rank from_world(Rank rank) const {
    return is_world() ? rank : team_.ranks->from_world(rank);
  }

 private:
  const ChannelTeam team_;
  const int world_size_;
  const int size_;
  const Rank rank_;
};

}  // namespace shoal::messaging
