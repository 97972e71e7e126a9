#include "am/channel_table.hpp"

#include <shoal/detail/am/channel.hpp>

#include <algorithm>

namespace shoal::messaging {

namespace {

/// The channel of the team in the ordered table, or the place where it would be.
auto place_of(auto& channels, std::uint64_t team) {
  return std::ranges::lower_bound(channels, team, {},
                                  [](const Channel* channel) { return channel->team().id(); });
}

bool is_of(const auto& channels, const auto& place, std::uint64_t team) {
  return place != channels.end() && (*place)->team().id() == team;
}

}  // namespace

bool ChannelTable::add(Channel& channel) {
  if (world_ == nullptr) {
    world_ = &channel;
    return true;
  }
  const sync::Lock lock(mutex_);
  const auto place = place_of(channels_, channel.team().id());
  if (is_of(channels_, place, channel.team().id())) return false;
  channels_.insert(place, &channel);
  return true;
}

bool ChannelTable::remove(const Channel& channel) {
  const sync::Lock lock(mutex_);
  const auto place = place_of(channels_, channel.team().id());
  if (place == channels_.end() || *place != &channel) return false;
  channels_.erase(place);
  return true;
}

Channel* ChannelTable::find(std::uint64_t team) const {
  if (team == 0) return world_;
  const sync::Lock lock(mutex_);
  const auto place = place_of(channels_, team);
  return is_of(channels_, place, team) ? *place : nullptr;
}

}  // namespace shoal::messaging
