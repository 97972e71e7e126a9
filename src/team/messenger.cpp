#include "team/messenger.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/team/core.hpp>

#include <algorithm>

#include "sync/pause.hpp"
#include "team/arrivals.hpp"
#include "team/rank_progress.hpp"
#include "team/receiver.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::messaging {

Messenger::Messenger(net::Fabric& fabric, sched::Scheduler& scheduler,
                     const MessengerOptions& options, FatalHandler fatal)
    : fabric_(fabric),
      scheduler_(scheduler),
      options_(options),
      fatal_(std::move(fatal)),
      reader_(std::make_unique<PacketReader>(fatal_)),
      arrivals_(std::make_unique<ArrivalCounts>(size())),
      unexpected_(std::make_unique<UnexpectedMessages>(channels_, *reader_)),
      receiver_(std::make_unique<Receiver>(options_.rank, this, scheduler, channels_, *reader_,
                                           *unexpected_, *arrivals_)),
      progress_(std::make_unique<RankProgress>(fabric, scheduler, options_, fatal_, channels_,
                                               *receiver_, *unexpected_)) {}

Messenger::~Messenger() = default;

// A channel that is added is seen by the code that keeps a message for it, or that is seen here:
// UnexpectedMessages looks for the channel after the message was counted, under its lock.
void Messenger::add(TeamCore& channel) {
  SHOAL_CHECK(channels_.add(channel), "rank {} has a team with the id {} already", rank().value(),
              channel.id());
  if (channel.id() == 0) return;
  sync::publish(this);
  retry_unexpected();
}

void Messenger::remove(TeamCore& channel) {
  if (channels_.remove(channel)) receiver_->handlers().removed().note_removal();
}

void Messenger::retry_unexpected() {
  if (unexpected_->empty()) return;
  unexpected_->request_retry();
  progress_->wake_for_progress();
}

void Messenger::reclaim(const std::shared_ptr<Handler>& handler) {
  receiver_->handlers().remove(handler);
}

void Messenger::await_reclaimed() {
  constexpr int kPauses = 64;
  const DeferredReclaim& removed = receiver_->handlers().removed();
  const std::uint32_t count = removed.count().load(std::memory_order_relaxed);
  for (int i = 1; removed.may_run(count); ++i) {
    sync::pause_briefly();
    if (i % kPauses == 0) scheduler_.env().yield();  // the handler may need this core
  }
}

void Messenger::set_has_teams(bool has_teams) {
  progress_->set_has_teams(has_teams);
  world().set_crosses(has_teams);
}

void Messenger::flush() { progress_->flush(); }

const std::atomic<int>& Messenger::polls_next() const { return progress_->polls_next(); }

bool Messenger::is_handling() const { return progress_->is_handling(); }

bool Messenger::looks_busy() const { return progress_->looks_busy(); }

namespace {

/// The channel of the team in the ordered table, or the place where it would be.
auto place_of(auto& channels, std::uint64_t team) {
  return std::ranges::lower_bound(channels, team, {},
                                  [](const TeamCore* channel) { return channel->id(); });
}

bool is_of(const auto& channels, const auto& place, std::uint64_t team) {
  return place != channels.end() && (*place)->id() == team;
}

}  // namespace

bool ChannelTable::add(TeamCore& channel) {
  if (world_ == nullptr) {
    world_ = &channel;
    return true;
  }
  const sync::Lock lock(mutex_);
  const auto place = place_of(channels_, channel.id());
  if (is_of(channels_, place, channel.id())) return false;
  channels_.insert(place, &channel);
  const std::uint64_t around = TeamCore::of(*channel.outer()).id();
  const auto hash = KeyHash<std::uint64_t>{}(channel.id());
  auto* const slot = around_.locate(hash, channel.id());
  if (slot->used()) {
    slot->value() = around;
  } else {
    around_.insert(slot, hash, channel.id(), around);
  }
  return true;
}

bool ChannelTable::remove(const TeamCore& channel) {
  const sync::Lock lock(mutex_);
  const auto place = place_of(channels_, channel.id());
  if (place == channels_.end() || *place != &channel) return false;
  channels_.erase(place);
  if (ended_.size() < kEndedMax) {
    ended_.push_back(channel.id());
  } else {
    around_.erase(std::exchange(ended_[oldest_ended_], channel.id()));
    oldest_ended_ = (oldest_ended_ + 1) % kEndedMax;
  }
  return true;
}

TeamCore* ChannelTable::around_ended(std::uint64_t team) const {
  const sync::Lock lock(mutex_);
  const auto find = [&]() SHOAL_REQUIRES(mutex_) -> TeamCore* {
    const auto place = place_of(channels_, team);
    return is_of(channels_, place, team) ? *place : nullptr;
  };
  if (find() != nullptr) return nullptr;
  const std::uint64_t* around = around_.find(team);
  if (around == nullptr) return nullptr;
  for (; around != nullptr; around = around_.find(team)) {
    team = *around;
    if (TeamCore* const found = find(); found != nullptr) return found;
  }
  return world_;
}

TeamCore* ChannelTable::find(std::uint64_t team) const {
  if (team == 0) return world_;
  if ((team & kAboutBit) != 0) {
    team ^= kAboutBit;
    return find(team) != nullptr || around_ended(team) != nullptr ? world_ : nullptr;
  }
  const sync::Lock lock(mutex_);
  const auto place = place_of(channels_, team);
  return is_of(channels_, place, team) ? *place : nullptr;
}

}  // namespace shoal::messaging
