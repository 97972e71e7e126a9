#pragma once
// Work-stealing deque: the owner pushes and pops at the bottom, thieves take from the top.

#include <shoal/detail/sync/asymmetric_barrier.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::sync {

/// Holds pointers; grows without bound; the owner's operations never wait.
/// Source: D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005, with the C11
/// orderings of N. Le et al., PPoPP 2013 (its fences replaced by seq_cst operations).
///
/// Invariant: the items are at indices [top_, bottom_). Only the owner moves bottom_; top_ only
/// grows, by compare-exchange, and each success hands exactly one index to exactly one taker.
///
/// A thread that has pushed and then looks for sleepers must not miss a thread that announces that
/// it will sleep and then looks for items. Therefore push() is seq_cst; or, to spare the owner,
/// only the compiler keeps it before later accesses, and a thread that is about to sleep calls
/// heavy_barrier() in between. tests/model/sync_sleep_wake_test.cpp explores it.
template <class T>
class WorkDeque {
 public:
  explicit WorkDeque(bool asymmetric = has_asymmetric_barrier())
      : asymmetric_(asymmetric), ring_(new Ring(kInitialCapacity)) {
    rings_.emplace_back(ring_.load());
  }
  WorkDeque(const WorkDeque&) = delete;
  WorkDeque& operator=(const WorkDeque&) = delete;

  /// Owner.
  void push(T* item) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);  // owner's own value
    const std::int64_t top = top_.load(std::memory_order_acquire);
    Ring* const ring = ring_.load(std::memory_order_relaxed);  // owner's own value
    if (bottom - top >= ring->capacity) [[unlikely]] {
      push_growing(item, top);
      return;
    }
    ring->put(bottom, item);
    // release pairs with the thieves' load of bottom_: they see the item
    if (asymmetric_) {
      bottom_.store(bottom + 1, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler
    } else {
      bottom_.store(bottom + 1, std::memory_order_seq_cst);
    }
  }

  /// Owner; newest first. nullptr: empty.
  [[nodiscard]] T* try_pop() {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    Ring* ring = ring_.load(std::memory_order_relaxed);
    // seq_cst orders this store before the load of top_: a thief and the owner cannot both
    // believe that the last item is theirs.
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top > bottom) {
      bottom_.store(bottom + 1, std::memory_order_relaxed);  // nothing was taken: as before
      return nullptr;
    }
    T* item = ring->get(bottom);
    if (top != bottom) return item;
    // The last item: win it against the thieves, or leave it to one.
    const bool won = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed);
    bottom_.store(bottom + 1, std::memory_order_relaxed);
    return won ? item : nullptr;
  }

  /// Removes the newest item and returns it, or nullptr; faster than try_pop() if the deque is
  /// empty. **Caller**: the owner.
  [[nodiscard]] T* try_pop_if_any() {
    // relaxed, acquire: the owner's own value, and top_ only grows
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    return top_.load(std::memory_order_acquire) >= bottom ? nullptr : try_pop();
  }

  /// Removes the oldest item and returns it; nullptr if there is none, or another thread took it.
  /// **Caller**: any thread.
  [[nodiscard]] T* try_steal() {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    const std::int64_t bottom = bottom_.load(std::memory_order_seq_cst);
    if (top >= bottom) return nullptr;
    // acquire pairs with the release in push_growing(); an old ring still holds index `top`
    // unchanged for as long as top_ has not moved, which the exchange below checks.
    Ring* ring = ring_.load(std::memory_order_acquire);
    T* item = ring->get(top);
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
      return nullptr;
    }
    return item;
  }

  /// Returns the number of items; a hint unless the owner calls it. **Caller**: any thread.
  [[nodiscard]] std::int64_t size_hint() const {
    const std::int64_t top = top_.load(std::memory_order_seq_cst);
    return bottom_.load(std::memory_order_seq_cst) - top;
  }

 private:
  static constexpr std::int64_t kInitialCapacity = 64;

  struct Ring {
    explicit Ring(std::int64_t n)
        : capacity(n), slots(std::make_unique_for_overwrite<T*[]>(static_cast<std::size_t>(n))) {}
    // relaxed: visibility of the item is ordered by bottom_, top_ and ring_.
    void put(std::int64_t i, T* item) { slot(i).store(item, std::memory_order_relaxed); }
    T* get(std::int64_t i) const { return slot(i).load(std::memory_order_relaxed); }
    std::atomic_ref<T*> slot(std::int64_t i) const {
      return std::atomic_ref<T*>(slots[static_cast<std::size_t>(i & (capacity - 1))]);
    }
    std::int64_t capacity;
    std::unique_ptr<T*[]> slots;
  };

  [[gnu::noinline]] void push_growing(T* item, std::int64_t top) {
    Ring* const old = ring_.load(std::memory_order_relaxed);
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    auto ring = std::make_unique<Ring>(old->capacity * 2);
    for (std::int64_t i = top; i < bottom; ++i) ring->put(i, old->get(i));
    Ring* raw = ring.get();
    rings_.push_back(std::move(ring));  // old rings stay: a thief may still read one
    ring_.store(raw, std::memory_order_release);
    push(item);
  }

  const bool asymmetric_;
  alignas(64) std::atomic<std::int64_t> top_{0};     // thieves and owner, by exchange
  alignas(64) std::atomic<std::int64_t> bottom_{0};  // owner writes; thieves read
  std::atomic<Ring*> ring_;                          // owner writes; thieves read
  std::vector<std::unique_ptr<Ring>> rings_;         // owner's alone
};

}  // namespace shoal::sync
