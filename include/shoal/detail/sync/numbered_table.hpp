#pragma once
// Values that wait for an answer, under the numbers that the answers bring back.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace shoal::sync {

/// Values by number: the library's table of requests without an answer. A value leaves the table
/// once, to the first that takes it, and its number is not used again: it is that of the value's
/// slot, with the number of values that had the slot before. Memory is kept for the largest number
/// of values that were in the table at one time.
///
/// T: movable without exceptions; the default, and one that was moved from, hold nothing.
/// **Caller**: any thread.
/// **Ordering**: none between callers; a number reaches the one that takes its value in a message.
template <class T>
class NumberedTable {
 public:
  /// The number of the value, not 0.
  [[nodiscard]] std::uint64_t add(T value) {
    const Quiet quiet;
    const Lock lock(mutex_);
    if (first_free_ == kLast) [[unlikely]]
      grow();
    Slot& slot = slots_[first_free_];
    first_free_ = std::exchange(slot.next_free, kUsed);
    slot.value = std::move(value);
    return slot.number;
  }

  /// Takes the value out if it is in the table, and `fits(value)`, which throws nothing, says so.
  template <class F>
  [[nodiscard]] std::optional<T> take_if(std::uint64_t number, F fits) {
    const Quiet quiet;
    const Lock lock(mutex_);
    const std::uint32_t index = static_cast<std::uint32_t>(number) - 1;
    if (index >= slots_.size()) return std::nullopt;
    Slot& slot = slots_[index];
    if (slot.number != number || slot.next_free != kUsed || !fits(std::as_const(slot.value))) {
      return std::nullopt;
    }
    slot.number += kReused;
    slot.next_free = std::exchange(first_free_, index);
    std::optional<T> value(std::move(slot.value));
    return value;
  }
  [[nodiscard]] std::optional<T> take(std::uint64_t number) {
    return take_if(number, [](const T& /*value*/) { return true; });
  }

  /// f(value) for all values, with the table locked. f may move them out, and they stay in the
  /// table as such; it throws nothing.
  template <class F>
  void for_each(F f) {
    const Quiet quiet;
    const Lock lock(mutex_);
    for (Slot& slot : slots_) {
      if (slot.next_free == kUsed) f(slot.value);
    }
  }

 private:
  struct Slot {
    T value{};
    std::uint64_t number = 0;         // of the value, or of the next one
    std::uint32_t next_free = kUsed;  // another free slot, or kLast
  };
  static constexpr std::uint64_t kReused = std::uint64_t{1} << 32U;
  static constexpr std::uint32_t kLast = ~std::uint32_t{0};
  static constexpr std::uint32_t kUsed = kLast - 1;

  [[gnu::noinline]] void grow() SHOAL_REQUIRES(mutex_) {
    Slot& slot = slots_.emplace_back();
    slot.number = slots_.size();
    slot.next_free = std::exchange(first_free_, static_cast<std::uint32_t>(slots_.size() - 1));
  }

  Mutex mutex_;
  std::vector<Slot> slots_ SHOAL_GUARDED_BY(mutex_);
  std::uint32_t first_free_ SHOAL_GUARDED_BY(mutex_) = kLast;
};

}  // namespace shoal::sync
