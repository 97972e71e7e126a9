#include "team/messenger.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/team/core.hpp>

#include <utility>

#include "sync/pause.hpp"
#include "team/arrivals.hpp"
#include "team/rank_progress.hpp"
#include "team/receiver.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::team {

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
  channels_.remove(channel);
  receiver_->handlers().removed().note_removal();
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

bool Messenger::rests() { return progress_->rests(); }

bool Messenger::looks_busy() const { return progress_->looks_busy(); }

bool ChannelTable::add(TeamCore& channel) {
  if (world_ == nullptr) {
    world_ = &channel;
    return true;
  }
  const Entry entry{&channel, TeamCore::of(*channel.outer()).id()};
  const sync::Lock lock(mutex_);
  Entry* const known = entries_.find(channel.id());
  if (known == nullptr) {
    entries_.insert(channel.id(), entry);
  } else if (known->channel == nullptr) {
    *known = entry;
  } else {
    return false;
  }
  return true;
}

void ChannelTable::remove(const TeamCore& channel) {
  const sync::Lock lock(mutex_);
  Entry* const entry = entries_.find(channel.id());
  if (entry == nullptr || entry->channel != &channel) return;
  entry->channel = nullptr;
  if (ended_.size() < kEndedMax) {
    ended_.push_back(channel.id());
  } else {
    const std::uint64_t oldest = std::exchange(ended_[oldest_ended_], channel.id());
    oldest_ended_ = (oldest_ended_ + 1) % kEndedMax;
    const Entry* const entry_of_oldest = entries_.find(oldest);
    if (entry_of_oldest != nullptr && entry_of_oldest->channel == nullptr) entries_.erase(oldest);
  }
}

TeamCore* ChannelTable::find(std::uint64_t team) const {
  if (team == 0) return world_;
  if ((team & kAboutBit) != 0) {
    team ^= kAboutBit;
    return find(team) != nullptr || around_ended(team) != nullptr ? world_ : nullptr;
  }
  const sync::Lock lock(mutex_);
  const Entry* const entry = entries_.find(team);
  return entry != nullptr ? entry->channel : nullptr;
}

TeamCore* ChannelTable::around_ended(std::uint64_t team) const {
  const sync::Lock lock(mutex_);
  const Entry* entry = entries_.find(team);
  if (entry == nullptr || entry->channel != nullptr) return nullptr;
  while (entry != nullptr && entry->channel == nullptr) entry = entries_.find(entry->around);
  return entry != nullptr ? entry->channel : world_;
}

}  // namespace shoal::team
