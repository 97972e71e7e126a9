#include <shoal/detail/team/team_ranks.hpp>

#include <shoal/detail/base/check.hpp>

#include <utility>

namespace shoal::messaging {

TeamRanks::TeamRanks(ChannelTeam team, Rank world_rank, int world_size)
    : team_(std::move(team)),
      world_size_(world_size),
      size_(is_world() ? world_size : team_.ranks->size()),
      rank_(from_world(world_rank)) {}

Rank TeamRanks::to_world(Rank member) const {
  if (is_world()) return member;
  SHOAL_CHECK(has(member), "rank {} is out of range: the team has ranks 0 to {}", member.value(),
              size_ - 1);
  const Rank rank = team_.ranks->to_world(member);
  SHOAL_CHECK(
      rank >= 0 && rank < world_size_,
      "rank {} of a team is rank {} of the world, by the function that was given: there are "
      "ranks 0 to {}",
      member.value(), rank.value(), world_size_ - 1);
  return rank;
}

}  // namespace shoal::messaging
