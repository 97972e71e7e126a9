#include "event/order.hpp"

#include <shoal/base/check.hpp>

#include <algorithm>

namespace shoal::event {

namespace {

// Ranks are counted from the source on, so that each source is the root of a tree of its own.
int distance(Rank source, Rank rank, int size) { return (rank - source + size) % size; }

/// The entries of ranks in [begin, end), and on from `it` which is at the first of them.
std::vector<Parcel::Before> entries_until(std::vector<Parcel::Before>::const_iterator& it,
                                          const std::vector<Parcel::Before>& all, int end) {
  const auto begin = it;
  while (it != all.end() && it->rank < end) ++it;
  return {begin, it};
}

}  // namespace

Parcel Outbox::to_one(Rank target, SharedContent content) {
  Target& to = to_[static_cast<std::size_t>(target.value())];
  if (!std::exchange(to.is_new, true)) new_targets_.push_back(target);
  Parcel parcel;
  parcel.content = std::move(content);
  parcel.number = ++to.count;
  parcel.all_count = all_count_;
  return parcel;
}

Parcel Outbox::to_all(SharedContent content) {
  const int size = static_cast<int>(to_.size());
  Parcel parcel;
  parcel.content = std::move(content);
  parcel.to_all = true;
  parcel.number = ++all_count_;
  parcel.end = size;
  for (const int target : new_targets_) {
    Target& to = to_[static_cast<std::size_t>(target)];
    to.is_new = false;
    parcel.before.push_back({distance(rank_, Rank(target), size), to.count});
  }
  new_targets_.clear();
  std::ranges::sort(parcel.before, {}, &Parcel::Before::rank);
  return parcel;
}

// This rank keeps the first entry, if it is its own, and shares the ranks behind itself out in
// equal parts, of each of which the first is in charge.
std::vector<std::pair<Rank, Parcel>> pass_on(const Parcel& parcel, Rank me, int size) {
  const Rank source = parcel.content->source;
  const int begin = distance(source, me, size) + 1;
  const int count = std::max(0, parcel.end - begin);
  std::vector<std::pair<Rank, Parcel>> messages;
  auto entry = parcel.before.begin();
  static_cast<void>(entries_until(entry, parcel.before, begin));
  for (int i = 0; i < kFanOut; ++i) {
    const int first = begin + count * i / kFanOut;
    const int end = begin + count * (i + 1) / kFanOut;
    if (first == end) continue;
    Parcel part;
    part.content = parcel.content;
    part.to_all = true;
    part.number = parcel.number;
    part.end = end;
    part.before = entries_until(entry, parcel.before, end);
    messages.emplace_back(Rank((source + first) % size), std::move(part));
  }
  return messages;
}

std::uint64_t Inbox::needed_by(const Parcel& parcel) const {
  if (!parcel.to_all) return parcel.all_count;
  const int size = static_cast<int>(from_.size());
  const int mine = distance(parcel.content->source, rank_, size);
  // The entries begin with that of the receiver, if it has one.
  const bool has_entry = !parcel.before.empty() && parcel.before.front().rank == mine;
  return has_entry ? parcel.before.front().one_count : 0;
}

void Inbox::accept(const Parcel& parcel, const Deliver& deliver) {
  const int from = parcel.content->source;
  SHOAL_CHECK(from >= 0 && static_cast<std::size_t>(from) < from_.size(),
              "an event arrived from rank {}, which there is not", from);
  Source& source = from_[static_cast<std::size_t>(from)];
  Lane& lane = parcel.to_all ? source.to_all : source.to_one;
  const Lane& other = parcel.to_all ? source.to_one : source.to_all;
  const std::uint64_t needed = needed_by(parcel);
  if (parcel.number == lane.count + 1 && needed <= other.count) {
    ++lane.count;
    deliver(parcel.content);
  } else {
    lane.early.emplace(parcel.number, Early{parcel.content, needed});
    ++held_count_;
  }
  while (deliver_next(source.to_one, source.to_all, deliver) ||
         deliver_next(source.to_all, source.to_one, deliver)) {
  }
}

bool Inbox::deliver_next(Lane& lane, const Lane& other, const Deliver& deliver) {
  const auto it = lane.early.begin();
  if (it == lane.early.end() || it->first != lane.count + 1) return false;
  if (it->second.needed_count > other.count) return false;
  const SharedContent content = std::move(it->second.content);
  lane.early.erase(it);
  ++lane.count;
  --held_count_;
  deliver(content);
  return true;
}

std::vector<Rank> Inbox::held_sources() const {
  std::vector<Rank> sources;
  for (int i = 0; i < static_cast<int>(from_.size()); ++i) {
    const Source& source = from_[static_cast<std::size_t>(i)];
    if (!source.to_one.early.empty() || !source.to_all.early.empty()) sources.emplace_back(i);
  }
  return sources;
}

}  // namespace shoal::event
