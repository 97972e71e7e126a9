#include <shoal/sync/mutex.hpp>

#include "sync/pause.hpp"

namespace shoal::sync {

void PlainMutex::lock_slowly() {
  constexpr int kSpins = 64;
  for (int i = 0; i < kSpins; ++i) {
    pause_briefly();
    if (state_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
  }
  // acquire: as in try_lock()
  while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
    state_.wait(kContended, std::memory_order_relaxed);
  }
}

}  // namespace shoal::sync
