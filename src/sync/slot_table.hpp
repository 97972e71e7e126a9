#pragma once
// Table of values under numbers that are not used again soon.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace shoal::sync {

/// Number of a value in a SlotTable.
struct SlotId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
};

/// Values by number; a value leaves the table once, to the first that takes it. Lock-free: a thread
/// waits for none, except for the system's allocator when the table grows. Memory is kept for the
/// largest number of values that were in the table at one time. A T that was moved from holds
/// nothing.
///
/// Free slots are a stack (R. K. Treiber, 1986). Its head holds a count of changes: a head that is
/// equal to the one seen has not been taken off and put back in between (ABA). Slots are never
/// freed before the table, so the successor of one that another thread has taken may be read.
///
/// Invariant: state_ of a slot is 2 g + 1 while the value of generation g is in it, and 2 g
/// otherwise, when the slot is free or owned by one thread that fills or empties it.
template <class T>
class SlotTable {
 public:
  SlotTable() = default;
  ~SlotTable() {
    // relaxed: no other thread uses the table any more
    for (std::atomic<Slot*>& block : blocks_) delete[] block.load(std::memory_order_relaxed);
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  /// Any thread. `label` is for for_each_label().
  [[nodiscard]] SlotId add(T value, int label = 0) {
    const std::uint32_t index = take_free();
    Slot& slot = slot_at(index);
    slot.value = std::move(value);
    // relaxed: published by the next store, or read as a hint
    slot.label.store(label, std::memory_order_relaxed);
    // relaxed: written last by the former owner, which take_free() comes behind
    const std::uint32_t generation = slot.state.load(std::memory_order_relaxed) / 2;
    // release pairs with the acquire in take()
    slot.state.store(2 * generation + 1, std::memory_order_release);
    return {index, generation};
  }

  /// Takes the value out; nothing: it is not in the table, or not any more. Any thread.
  [[nodiscard]] std::optional<T> take(const SlotId& id) {
    Slot* const slot = find(id.index);
    if (slot == nullptr) return std::nullopt;
    std::uint32_t full = 2 * id.generation + 1;
    // acquire pairs with the release in add(); one thread wins
    if (!slot->state.compare_exchange_strong(full, full + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
      return std::nullopt;
    }
    std::optional<T> value(std::move(slot->value));
    give_back(id.index, *slot);
    return value;
  }

  /// Takes all values out that were added before: f(value). Any thread.
  template <class F>
  void take_all(F f) {
    for (std::uint32_t index = 0; index < slot_count(); ++index) {
      const Slot* const slot = find(index);
      if (slot == nullptr) continue;
      // relaxed: take() looks again
      const std::uint32_t state = slot->state.load(std::memory_order_relaxed);
      if (state % 2 == 0) continue;
      if (std::optional<T> value = take({index, state / 2})) f(std::move(*value));
    }
  }

  /// f(label) for about the values that are in the table. Any thread; for reports.
  template <class F>
  void for_each_label(F f) const {
    for (std::uint32_t index = 0; index < slot_count(); ++index) {
      const Slot* const slot = find(index);
      // relaxed: a report of what changes meanwhile
      if (slot != nullptr && slot->state.load(std::memory_order_relaxed) % 2 == 1) {
        f(slot->label.load(std::memory_order_relaxed));
      }
    }
  }

 private:
  struct Slot {
    std::atomic<std::uint32_t> state{0};
    std::atomic<std::uint32_t> next{0};  // of a free one: index + 1; 0: none
    std::atomic<int> label{0};
    T value{};
  };

  // Block b holds 64 * 2^b slots.
  static constexpr std::uint32_t kFirstCount = 64;
  static constexpr std::size_t kBlockCount = 26;
  static constexpr std::uint64_t kIndexMask = 0xFFFFFFFFU;
  static constexpr std::uint64_t kOneChange = kIndexMask + 1;

  static std::size_t block_of(std::uint32_t index) {
    return static_cast<std::size_t>(std::bit_width(index / kFirstCount + 1)) - 1;
  }
  static std::uint32_t first_of(std::size_t block) {
    return kFirstCount * ((std::uint32_t{1} << block) - 1);
  }
  static std::size_t count_of(std::size_t block) { return std::size_t{kFirstCount} << block; }

  /// Indices that were given out, about.
  [[nodiscard]] std::uint32_t slot_count() const {
    // relaxed: values that are added meanwhile need not be seen
    return made_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Slot* find(std::uint32_t index) const {
    const std::size_t block = block_of(index);
    if (block >= kBlockCount) return nullptr;
    // acquire pairs with the release in grow()
    Slot* const slots = blocks_[block].load(std::memory_order_acquire);
    return slots == nullptr ? nullptr : slots + (index - first_of(block));
  }
  [[nodiscard]] Slot& slot_at(std::uint32_t index) {
    Slot* const slot = find(index);
    return slot != nullptr ? *slot : grow(block_of(index))[index - first_of(block_of(index))];
  }
  Slot* grow(std::size_t block) {
    auto made = std::make_unique<Slot[]>(count_of(block));
    Slot* there = nullptr;
    // acq_rel: the slots are made before others see them, here and there
    if (blocks_[block].compare_exchange_strong(there, made.get(), std::memory_order_acq_rel,
                                               std::memory_order_acquire)) {
      return made.release();
    }
    return there;
  }

  /// A slot that is this thread's until add() publishes it.
  [[nodiscard]] std::uint32_t take_free() {
    // acquire pairs with the release in give_back(): the slot is empty
    std::uint64_t head = free_.load(std::memory_order_acquire);
    while ((head & kIndexMask) != 0) {
      const auto index = static_cast<std::uint32_t>(head & kIndexMask) - 1;
      // relaxed: wrong if the slot is not free any more; then the head has changed
      const std::uint64_t next = find(index)->next.load(std::memory_order_relaxed);
      const std::uint64_t changes = (head & ~kIndexMask) + kOneChange;
      if (free_.compare_exchange_weak(head, changes | next, std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return index;
      }
    }
    return made_.fetch_add(1, std::memory_order_relaxed);  // relaxed: only the number matters
  }
  void give_back(std::uint32_t index, Slot& slot) {
    std::uint64_t head = free_.load(std::memory_order_relaxed);
    std::uint64_t mine = 0;
    do {
      // relaxed: published by the exchange
      slot.next.store(static_cast<std::uint32_t>(head & kIndexMask), std::memory_order_relaxed);
      mine = ((head & ~kIndexMask) + kOneChange) | (std::uint64_t{index} + 1);
      // release pairs with the acquire in take_free(). Later changes of the head continue the
      // release sequence, so a slot further down is empty, too, for the thread that takes it.
    } while (!free_.compare_exchange_weak(head, mine, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  std::array<std::atomic<Slot*>, kBlockCount> blocks_{};
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::uint64_t> free_{0};  // changes in the upper half, index + 1 in the lower one
};

}  // namespace shoal::sync
