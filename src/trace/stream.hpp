#pragma once
// Events and descriptions of one track, on their way to the file.

#include <shoal/detail/env/env.hpp>

#include "env/ticks.hpp"
#include "trace/recorder.hpp"
#include "trace/slot_ring.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace shoal::trace {

/// Identity of a track within its process.
struct TrackInfo {
  std::uint32_t track = 0;
  int rank = 0;
  int worker = 0;                    // -1: a thread that is no worker
  std::uint32_t number_in_rank = 0;  // of the tracks that the rank has had
  std::string name;
};

class Stream;

/// Writer of streams.
class StreamWriter {
 public:
  /// Virtual time: called by a thread that found its buffer full.
  virtual void write_from_recording_thread(Stream& stream) noexcept = 0;

 protected:
  ~StreamWriter() = default;
};

/// One thread at a time records, one at a time (under the session's lock) writes.
class Stream {
 public:
  Stream(TrackInfo info, std::uint32_t session, std::size_t event_bytes, std::size_t detail_bytes)
      : info_(std::move(info)), session_(session), events_(event_bytes), details_(detail_bytes) {}

  void use_ticks(env::TickSource source) {
    source_ = source;
    is_plain_ = source == env::TickSource::tsc;
  }
  /// `writer` writes full buffers; it outlives the recording.
  void use_virtual_time(env::Env& time, StreamWriter& writer) {
    virtual_time_ = &time;
    writer_ = &writer;
  }

  [[nodiscard]] const TrackInfo& info() const { return info_; }
  [[nodiscard]] std::uint32_t session() const { return session_; }

  // The recording thread.
  void record(Kind kind, std::uint64_t id, std::uint64_t value, NameId name) noexcept {
    if (!is_plain_ || events_.looks_full()) [[unlikely]]
      return record_slowly(kind, id, value, name);
    fill(events_.next(), env::read_ticks(env::TickSource::tsc), kind, id, value, name);
    events_.publish();
  }
  void describe(Detail::Type type, std::uint64_t id, std::string_view text) noexcept;
  /// Describes by one record.
  void describe(Detail::Type type, std::uint64_t id, std::span<const std::byte> bytes) noexcept {
    if (details_.looks_full()) [[unlikely]] {
      return describe(type, id, text_of(bytes));
    }
    Detail& detail = details_.next();
    detail.id = id;
    std::memcpy(detail.bytes.data(), bytes.data(), bytes.size());
    detail.type = type;
    detail.length = static_cast<std::uint8_t>(bytes.size());
    details_.publish();
  }
  void relate(Detail::Type type, std::uint64_t id, std::uint64_t other) noexcept {
    if (details_.looks_full()) [[unlikely]]
      return relate_slowly(type, id, other);
    Detail& detail = details_.next();
    detail.id = id;
    std::memcpy(detail.bytes.data(), &other, sizeof other);
    detail.type = type;
    detail.length = sizeof other;
    details_.publish();
  }
  [[nodiscard]] std::uint64_t new_id() noexcept {
    return make_id(static_cast<std::uint32_t>(info_.rank), info_.number_in_rank, ++last_id_);
  }

  /// Ends the stream: nothing is recorded any more. **Caller**: the recording thread, or the last
  /// owner of its track.
  void end() noexcept { ended_.store(true, std::memory_order_release); }

  // The writing side.
  /// Acquire pairs with end(): a thread that sees the end sees all events.
  [[nodiscard]] bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  [[nodiscard]] SlotRing<Event>& events() { return events_; }
  [[nodiscard]] SlotRing<Detail>& details() { return details_; }
  void add_drops(Drops& sum) const;

 private:
  [[nodiscard]] std::uint64_t now() const noexcept {
    if (virtual_time_ != nullptr) [[unlikely]]
      return virtual_time_->now_ns();
    return env::read_ticks(source_);
  }
  void fill(Event& event, std::uint64_t time, Kind kind, std::uint64_t id, std::uint64_t value,
            NameId name) const noexcept {
    event.time = time;
    event.id = id;
    event.value = value;
    event.name = name;
    event.set(info_.track, kind);
  }
  /// Another clock, or the ring looks full.
  [[gnu::noinline]] void record_slowly(Kind kind, std::uint64_t id, std::uint64_t value,
                                       NameId name) noexcept;
  /// Marks the place of events dropped before `next`.
  bool make_room(const Event& next) noexcept;
  void count_drop(Kind kind) noexcept;
  /// The ring looks full.
  [[gnu::noinline]] void relate_slowly(Detail::Type type, std::uint64_t id,
                                       std::uint64_t other) noexcept;
  bool push(const Detail& detail) noexcept;
  static std::string_view text_of(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  const TrackInfo info_;
  const std::uint32_t session_;
  env::TickSource source_ = env::TickSource::monotonic_raw;
  bool is_plain_ = false;  // the clock is the time stamp counter
  env::Env* virtual_time_ = nullptr;
  StreamWriter* writer_ = nullptr;
  // From the 1024th track of a rank on, numbers of tracks repeat in identifiers; counts then begin
  // elsewhere.
  std::uint32_t last_id_ = (info_.number_in_rank >> 10U) << 24U;
  std::uint64_t lost_ = 0;  // since the last event that was recorded
  SlotRing<Event> events_;
  SlotRing<Detail> details_;
  std::atomic<bool> ended_{false};
  // The recording thread writes; relaxed: statistics.
  std::array<std::atomic<std::uint64_t>, kCategoryCount> dropped_{};
  std::atomic<std::uint64_t> dropped_details_{0};
};

}  // namespace shoal::trace
