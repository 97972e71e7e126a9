#include "trace/stream.hpp"

#include <algorithm>

#include "trace/session.hpp"

namespace shoal::trace {

namespace {

void add_one(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

bool Stream::make_room(const Event& next) noexcept {
  if (writer_ != nullptr) writer_->write_from_recording_thread(*this);
  if (lost_ == 0) return true;
  Event mark = next;
  mark.set(info_.track, Kind::lost);
  mark.id = 0;
  mark.value = lost_;
  mark.name = 0;
  if (!events_.try_push(mark)) {
    count_drop(next.kind());
    return false;
  }
  lost_ = 0;
  return true;
}

void Stream::count_drop(Kind kind) noexcept {
  ++lost_;
  add_one(dropped_[static_cast<std::size_t>(info_of(kind).category)]);
}

void Stream::record_slowly(Kind kind, std::uint64_t id, std::uint64_t value, NameId name) noexcept {
  Event event;
  fill(event, now(), kind, id, value, name);
  if (events_.looks_full() && !make_room(event)) return;
  if (!events_.try_push(event)) count_drop(kind);
}

bool Stream::push(const Detail& detail) noexcept {
  if (details_.try_push(detail)) return true;
  if (writer_ != nullptr) writer_->write_from_recording_thread(*this);
  if (details_.try_push(detail)) return true;
  add_one(dropped_details_);
  return false;
}

void Stream::relate_slowly(Detail::Type type, std::uint64_t id, std::uint64_t other) noexcept {
  describe(type, id, text_of(std::as_bytes(std::span(&other, 1))));
}

void Stream::describe(Detail::Type type, std::uint64_t id, std::string_view text) noexcept {
  constexpr std::size_t kRecordsMax = 8;
  text = text.substr(0, kRecordsMax * Detail::kTextBytes);
  do {
    Detail detail;
    detail.id = id;
    detail.type = type;
    const std::string_view part = text.substr(0, Detail::kTextBytes);
    std::copy(part.begin(), part.end(), detail.bytes.begin());
    text.remove_prefix(part.size());
    const std::size_t more = text.empty() ? 0 : Detail::kGoesOn;
    detail.length = static_cast<std::uint8_t>(part.size() | more);
    if (!push(detail)) return;
  } while (!text.empty());
}

void Stream::add_drops(Drops& sum) const {
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    sum.events[i] += dropped_[i].load(std::memory_order_relaxed);
  }
  sum.details += dropped_details_.load(std::memory_order_relaxed);
}

}  // namespace shoal::trace
