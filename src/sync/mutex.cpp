#include <shoal/detail/sync/mutex.hpp>

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

}  // namespace shoal::sync
