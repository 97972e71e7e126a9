#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>

#include "sync/pause.hpp"

namespace shoal::sync {

void PlainMutex::lock_slowly() {
  constexpr int kSpins = 64;
  for (int i = 0; i < kSpins; ++i) {
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    if (state == kFree && try_lock()) return;
    if (state == kLocked) {
      state_.compare_exchange_strong(state, kAwaited, std::memory_order_relaxed,
                                     std::memory_order_relaxed);
    }
    pause_briefly();
  }
  // acquire: as in try_lock()
  while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
    state_.wait(kContended, std::memory_order_relaxed);
  }
}

// Touches only the address of the mutex. A spinning thread needs some time to see that the lock is
// free; without this pause the caller would mostly have it again by then.
void PlainMutex::let_in(std::uint32_t state) {
  constexpr int kPauses = 8;
  if (state == kContended) {
    state_.notify_one();
  } else {
    for (int i = 0; i < kPauses; ++i) pause_briefly();
  }
}

// Once waiting_ is raised and the barrier has passed, every thread that releases the lock sees that
// a thread waits.
void PlainStoreReleaseMutex::lock_slowly() {
  constexpr int kSpins = 64;
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  bool locked = false;
  for (int i = 0; i < kSpins && !locked; ++i) {
    pause_briefly();
    locked = state_.load(std::memory_order_relaxed) == kFree && try_lock();
  }
  bool is_seen = !asymmetric_;
  while (!locked && !try_lock()) {
    if (is_seen) state_.wait(kLocked, std::memory_order_seq_cst);
    if (!is_seen) is_seen = heavy_barrier();
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

// The fence orders the release of state_ before the look for threads that sleep on it. A spinning
// thread needs some time to see that the lock is free; without the pause the caller would mostly
// have the lock again by then.
void PlainStoreReleaseMutex::let_in() {
  constexpr int kPauses = 8;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  state_.notify_one();
  for (int i = 0; i < kPauses; ++i) pause_briefly();
}

}  // namespace shoal::sync
