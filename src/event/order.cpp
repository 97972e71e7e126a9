#include "event/order.hpp"

#include <shoal/detail/base/check.hpp>

#include <algorithm>
#include <utility>

namespace shoal::wire {

namespace {

void load_payload(ReadArchive& ar, event::Content& content) {
  const std::size_t size_bytes = ar.count(1);
  if (size_bytes >= net::kPieceBytes) {
    content.pieces = ar.take_pieces(size_bytes);
    if (content.pieces != nullptr) {
      if (content.type != EventType::raw) return;
      content.raw.bytes = {ReadArchive(*content.pieces, false).take(size_bytes, 1), size_bytes};
      return;
    }
    static_cast<void>(ar.take(0, max_alignment));
  }
  const auto view = ar.view<std::byte>(size_bytes);
  content.bytes.assign(view.begin(), view.end());
  content.raw.bytes = content.bytes;
}

}  // namespace

event::Parcel Codec<event::Parcel>::load(ReadArchive& ar) {
  event::Parcel parcel;
  const auto content = std::make_shared<event::Content>();
  ar(parcel.number, parcel.all_count);
  parcel.to_all = load_index(ar, 2, "target of an event") != 0;
  content->persistent = load_index(ar, 2, "persistence of an event") != 0;
  constexpr auto kTypes = static_cast<std::size_t>(EventType::address);  // addresses do not travel
  content->type = static_cast<EventType>(load_index(ar, kTypes, "type of an event"));
  ar(content->source, content->signature, content->raw.type, content->raw.count, content->trace_id);
  ar(parcel.before, content->name, content->type_store);
  load_payload(ar, *content);
  content->type_text = content->type_store;
  parcel.content = content;
  return parcel;
}

}  // namespace shoal::wire

namespace shoal::event {

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
  Parcel parcel;
  parcel.content = std::move(content);
  parcel.to_all = true;
  parcel.number = ++all_count_;
  for (const int target : new_targets_) {
    Target& to = to_[static_cast<std::size_t>(target)];
    to.is_new = false;
    parcel.before.push_back({target, to.count});
  }
  new_targets_.clear();
  std::ranges::sort(parcel.before, {}, &Parcel::Before::rank);
  return parcel;
}

std::uint64_t Inbox::needed_by(const Parcel& parcel) const {
  if (!parcel.to_all) return parcel.all_count;
  const auto entry = std::ranges::lower_bound(parcel.before, std::int64_t{rank_.value()}, {},
                                              &Parcel::Before::rank);
  const bool has_entry = entry != parcel.before.end() && entry->rank == rank_.value();
  return has_entry ? entry->one_count : 0;
}

void Inbox::accept(const Parcel& parcel, const Deliver& deliver) {
  const int from = parcel.content->source;
  SHOAL_CHECK(from >= 0 && static_cast<std::size_t>(from) < from_.size(),
              "an event arrived from rank {}, which does not exist", from);
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
