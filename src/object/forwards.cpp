// Invocations through rank 0 of teams that are not there.

#include "object/outside.hpp"
#include "team/messenger.hpp"

#include <algorithm>
#include <memory>

namespace shoal::object {

Forwards& Forwards::of(const messaging::Channel& channel) {
  return channel.messenger().world().services().obtain<Forwards>(
      [] { return std::make_unique<Forwards>(); });
}

std::uint64_t Forwards::take(const messaging::Channel& channel) {
  const std::uint64_t team = channel.id();
  if (team == 0) return 0;
  Forwards& all = of(channel);
  const sync::Lock lock(all.mutex_);
  const auto it = all.counts_.find(team);
  if (it == all.counts_.end()) return 0;
  const std::uint64_t count = it->second;
  all.counts_.erase(it);
  return count;
}

// take() comes after the channel is there: it sees what is counted while there is none.
Forwards::Way Forwards::begin(const messaging::Messenger& messenger, std::uint64_t team) {
  const sync::Lock lock(mutex_);
  if (messenger.find_channel(team) != nullptr) return Way::direct;
  if (std::ranges::find(outside_, team) != outside_.end()) return Way::plain;
  ++counts_[team];
  return Way::counted;
}

void Forwards::set_outsider(std::uint64_t team) {
  const sync::Lock lock(mutex_);
  if (counts_.erase(team) == 0) return;
  outside_.push_back(team);
  if (outside_.size() > kOutsideMax) outside_.pop_front();
}

}  // namespace shoal::object
