#pragma once
// Ring of slots between one thread that records and one that writes.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace shoal::trace {

/// Slots come out in the order pushed. Invariant: tail <= head <= tail + capacity. The producer
/// fills slot `head` before it publishes head + 1 with release; the consumer, which reads head with
/// acquire, gives slots back by publishing tail with release, which the producer reads with acquire
/// before it fills them again.
template <class Slot>
class SlotRing {
 public:
  /// Room for at least `bytes`, touched so that the producer meets no page fault; 0: no room.
  explicit SlotRing(std::size_t bytes)
      : capacity_(bytes < sizeof(Slot) ? 0 : std::bit_floor(bytes / sizeof(Slot))),
        slots_(std::make_unique<Slot[]>(capacity_)) {}

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

}  // namespace shoal::trace
