#pragma once
// Channels of the teams of one rank, by the id of the team.

#include <shoal/detail/sync/mutex.hpp>

#include <cstdint>
#include <vector>

namespace shoal::messaging {

class Channel;

/// The first channel that is added is the world's. Any thread.
class ChannelTable {
 public:
  /// False: this rank has a team with this id.
  [[nodiscard]] bool add(Channel& channel);
  /// False: it was not there.
  bool remove(const Channel& channel);
  /// nullptr: this rank has no such team (yet).
  [[nodiscard]] Channel* find(std::uint64_t team) const;
  [[nodiscard]] Channel& world() const { return *world_; }

 private:
  Channel* world_ = nullptr;  // set before the first step
  mutable sync::Mutex mutex_;
  std::vector<Channel*> channels_ SHOAL_GUARDED_BY(mutex_);  // all others, by team
};

}  // namespace shoal::messaging
