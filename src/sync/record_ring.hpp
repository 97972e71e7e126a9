#pragma once
// A ring of records in memory that two processes, or two threads, share: one writes, one reads.

#include <shoal/detail/base/check.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace shoal::sync {

/// Records come out whole, in the order written. Each begins on a cache line of its own, with a
/// mark: its size, or 0 until it is complete. So a short record moves one cache line from writer to
/// reader.
///
/// Before the writer publishes a record by its mark (B), it clears the mark behind it (A), which
/// the reader examines next. Both are in room that the reader has returned (D) after it has read
/// everything there (C): the writer reads D with acquire. So a reader of B sees the record and A;
/// and the data that A and the record overwrite were read before. A record that does not fit into
/// the rest of the ring begins at the start again, and a mark says so in its place.
/// tests/model/sync_record_ring_test.cpp explores it.
class RecordRing {
  using Mark = std::uint32_t;
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::size_t kBytes = std::size_t{128} << 10U;
  static constexpr std::size_t kGiveBackBytes = kBytes / 8;  // at once; so the writer looks seldom
  static constexpr std::size_t kStepMax = kBytes / 16 * 7;   // of a record
  static constexpr Mark kAtStart = ~Mark{0};
  static_assert((kGiveBackBytes - kLineBytes) + (kStepMax - kLineBytes) + kStepMax + kLineBytes <=
                    kBytes,
                "a record that finds no room in a ring that was read waits for ever");

 public:
  /// Maximum size of a record: it fits at any position of a ring that was read. The parts that are
  /// not returned then (a rest that is too short, the record, and the mark behind it) are less than
  /// the ring.
  static constexpr std::size_t kRecordMax = kStepMax - sizeof(Mark);

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see bytes_
  RecordRing() { mark_at(0).store(0, std::memory_order_relaxed); }
  RecordRing(const RecordRing&) = delete;
  RecordRing& operator=(const RecordRing&) = delete;

  /// The writing end; of one thread at a time.
  class Writer {
   public:
    explicit Writer(RecordRing& ring) : ring_(&ring) {}

    /// Writes one record, `head` and `body` behind each other, of 1 to kRecordMax bytes. False:
    /// there is no room for it now.
    [[nodiscard]] bool try_write(std::span<const std::byte> head, std::span<const std::byte> body) {
      const std::size_t size = head.size() + body.size();
      SHOAL_DCHECK(size <= kRecordMax, "a record of {} bytes, at most {}", size, kRecordMax);
      const std::size_t step = step_of(size);
      const std::size_t left = kBytes - written_ % kBytes;
      const std::size_t skipped = step > left ? left : 0;
      if (!has_room(skipped + step + kLineBytes)) return false;
      if (skipped > 0) {
        ring_->mark_at(0).store(0, std::memory_order_relaxed);                // A
        ring_->mark_at(written_).store(kAtStart, std::memory_order_release);  // B
        written_ += skipped;
      }
      std::byte* const place = ring_->place_of(written_);
      ring_->mark_at(written_ + step).store(0, std::memory_order_relaxed);  // A
      std::memcpy(place + sizeof(Mark), head.data(), head.size());
      std::memcpy(place + sizeof(Mark) + head.size(), body.data(), body.size());
      ring_->mark_at(written_).store(static_cast<Mark>(size), std::memory_order_release);  // B
      written_ += step;
      return true;
    }

   private:
    [[nodiscard]] bool has_room(std::size_t bytes) {
      if (kBytes - (written_ - given_back_) >= bytes) [[likely]]
        return true;
      given_back_ = ring_->given_back_.load(std::memory_order_acquire);  // pairs with D
      return kBytes - (written_ - given_back_) >= bytes;
    }

    RecordRing* ring_;
    std::uint64_t written_ = 0;     // bytes, ever
    std::uint64_t given_back_ = 0;  // as last seen
  };

  /// The reading end; of one thread at a time.
  class Reader {
   public:
    explicit Reader(RecordRing& ring) : ring_(&ring) {}

    /// The next record, until pop(); empty: there is none yet.
    [[nodiscard]] std::span<const std::byte> front() {
      Mark mark = ring_->mark_at(read_).load(std::memory_order_acquire);  // pairs with B
      if (mark == kAtStart) {
        read_ += kBytes - read_ % kBytes;
        mark = ring_->mark_at(read_).load(std::memory_order_acquire);
      }
      // Most records that one waits for take two lines: both come at once.
      if (mark == 0) __builtin_prefetch(ring_->place_of(read_ + kLineBytes));
      return {ring_->place_of(read_) + sizeof(Mark), mark};
    }
    /// Behind front(), which was not empty.
    void pop() {
      read_ += step_of(ring_->mark_at(read_).load(std::memory_order_relaxed));
      if (read_ - given_back_ < kGiveBackBytes) return;
      given_back_ = read_;
      ring_->given_back_.store(read_, std::memory_order_release);  // D
    }

   private:
    RecordRing* ring_;
    std::uint64_t read_ = 0;        // bytes, ever
    std::uint64_t given_back_ = 0;  // of them: what the writer knows
  };

 private:
  static std::size_t step_of(std::size_t size) {
    return (sizeof(Mark) + size + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  [[nodiscard]] std::byte* place_of(std::uint64_t at) { return bytes_.data() + at % kBytes; }
  [[nodiscard]] std::atomic_ref<Mark> mark_at(std::uint64_t at) {
    return std::atomic_ref(*reinterpret_cast<Mark*>(place_of(at)));
  }

  static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                    std::atomic_ref<Mark>::is_always_lock_free,
                "else it is no atomic for another process");

  alignas(kLineBytes) std::atomic<std::uint64_t> given_back_{0};  // the reader writes
  alignas(kLineBytes) std::array<std::byte, kBytes> bytes_;       // not touched until it is used
};

}  // namespace shoal::sync
