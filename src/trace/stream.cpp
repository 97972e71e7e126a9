#include "trace/stream.hpp"

#include <algorithm>
#include <cstring>

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

bool Stream::push(const Detail& detail) noexcept {
  if (details_.try_push(detail)) return true;
  if (writer_ != nullptr) writer_->write_from_recording_thread(*this);
  if (details_.try_push(detail)) return true;
  add_one(dropped_details_);
  return false;
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

void Stream::relate(Detail::Type type, std::uint64_t id, std::uint64_t other) noexcept {
  Detail detail;
  detail.id = id;
  detail.type = type;
  std::memcpy(detail.bytes.data(), &other, sizeof other);
  detail.length = sizeof other;
  static_cast<void>(push(detail));
}

void Stream::add_drops(Drops& sum) const {
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    sum.events[i] += dropped_[i].load(std::memory_order_relaxed);
  }
  sum.details += dropped_details_.load(std::memory_order_relaxed);
}

}  // namespace shoal::trace
