#pragma once
// Events and descriptions of one track, on their way to the file.

#include <shoal/detail/env/env.hpp>

#include "env/ticks.hpp"
#include "trace/recorder.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace shoal::trace {

/// Slots come out in the order pushed. Invariant: tail <= head <= tail + capacity. The producer
/// fills slot `head` before it publishes head + 1 with release; the consumer, which reads head with
/// acquire, gives slots back by publishing tail with release, which the producer reads with acquire
/// before it fills them again.
template <class Slot>
class SlotRing {
 public:
  /// Room in at most `bytes`, touched so that the producer meets no page fault; 0: no room.
  explicit SlotRing(std::size_t bytes)
      : capacity_(capacity_in(bytes)), slots_(std::make_unique<Slot[]>(capacity_)) {}

  [[nodiscard]] static constexpr std::uint64_t capacity_in(std::size_t bytes) {
    return bytes < sizeof(Slot) ? 0 : std::bit_floor(bytes / sizeof(Slot));
  }

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

  /// Producer. False: full.
  [[nodiscard]] bool try_push(const Slot& slot) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // its own
    if (looks_full() && !look_for_room(head)) [[unlikely]]
      return false;
    next() = slot;
    publish();
    return true;
  }
  /// Producer: the next slot, to be filled before publish(). **Precondition**: !looks_full().
  [[nodiscard]] Slot& next() noexcept {
    return slots_[head_.load(std::memory_order_relaxed) & (capacity_ - 1)];
  }
  void publish() noexcept {
    // release pairs with the acquire in front()
    head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// Producer: whether try_push() would have to look at the consumer's side first.
  [[nodiscard]] bool looks_full() const noexcept {
    return head_.load(std::memory_order_relaxed) - tail_seen_ >= capacity_;
  }

  /// Returns the approximate number of slots in the ring. **Caller**: any thread.
  [[nodiscard]] std::uint64_t size() const noexcept {
    // tail first: the difference is never negative; staleness only delays a look.
    const std::uint64_t tail = tail_.load(std::memory_order_acquire);
    return head_.load(std::memory_order_acquire) - tail;
  }

  /// Consumer: the oldest slots, as many as are contiguous in memory.
  [[nodiscard]] std::span<const Slot> front() const noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // its own
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    if (head == tail) return {};
    const std::uint64_t begin = tail & (capacity_ - 1);
    const std::uint64_t until_end = capacity_ - begin;
    return {slots_.get() + begin, head - tail < until_end ? head - tail : until_end};
  }
  /// Consumer: gives back the first `count` slots of front().
  void pop(std::size_t count) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    tail_.store(tail + count, std::memory_order_release);  // pairs with look_for_room()
  }

 private:
  [[gnu::noinline]] bool look_for_room(std::uint64_t head) noexcept {
    tail_seen_ = tail_.load(std::memory_order_acquire);
    return head - tail_seen_ < capacity_;
  }

  static constexpr std::size_t kLineBytes = 64;
  const std::uint64_t capacity_;  // a power of two, or 0
  const std::unique_ptr<Slot[]> slots_;
  alignas(kLineBytes) std::atomic<std::uint64_t> head_{0};  // producer writes
  std::uint64_t tail_seen_ = 0;                             // producer's; at most tail_
  alignas(kLineBytes) std::atomic<std::uint64_t> tail_{0};  // consumer writes
};

/// Identity of a track within its process.
struct TrackInfo {
  std::uint32_t track = 0;
  int rank = 0;
  int worker = 0;                    // -1: a thread that is no worker
  std::uint32_t number_in_rank = 0;  // of the tracks that the rank has had
  std::string name;
};

class Session;

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
  void use_virtual_time(env::Env& time, Session& writer) {
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
  Session* writer_ = nullptr;
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
