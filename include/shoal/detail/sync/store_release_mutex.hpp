#pragma once
// A lock that is given back with a plain store.

#include <shoal/detail/sync/asymmetric_barrier.hpp>
#include <shoal/detail/sync/mutex.hpp>

namespace shoal::sync {

/// A Mutex that is never destroyed while a call of it may still run, not even by its next owner.
/// unlock() has no atomic operation, which would wait until everything written under the lock has
/// reached the cache; those lines may be far away. A waiter pays instead. Use and fairness as
/// Mutex.
///
/// A waiter sets waiting_ (A), and reads state_ (B) before it sleeps; unlock() frees state_ (C) and
/// reads waiting_ (D). If D does not see A, then D came before A, and so before the heavy_barrier()
/// between A and B: behind that C is visible, and B sees the lock free. Where there is no such
/// barrier, C and D are seq_cst. tests/model/sync_store_release_mutex_test.cpp explores it.
class SHOAL_CAPABILITY("mutex") PlainStoreReleaseMutex {
 public:
  explicit PlainStoreReleaseMutex(bool asymmetric = has_asymmetric_barrier())
      : asymmetric_(asymmetric) {}
  PlainStoreReleaseMutex(const PlainStoreReleaseMutex&) = delete;
  PlainStoreReleaseMutex& operator=(const PlainStoreReleaseMutex&) = delete;

  void lock() SHOAL_ACQUIRE() {
    if (!try_lock()) lock_slowly();
  }
  void unlock() SHOAL_RELEASE() {
    if (asymmetric_) {
      state_.store(kFree, std::memory_order_release);       // pairs with try_lock()
      std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler
    } else {
      state_.exchange(kFree, std::memory_order_seq_cst);
    }
    if (waiting_.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
      let_in();
    }
  }
  [[nodiscard]] bool try_lock() SHOAL_TRY_ACQUIRE(true) {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kLocked = 1;
  void lock_slowly() SHOAL_UNCHECKED_LOCKING;
  [[gnu::noinline]] void let_in();

  std::atomic<std::uint32_t> state_{kFree};
  std::atomic<std::uint32_t> waiting_{0};  // that spin or sleep
  const bool asymmetric_;
};

using StoreReleaseMutex =
    std::conditional_t<kThreadSanitizer, Watched<PlainStoreReleaseMutex>, PlainStoreReleaseMutex>;
using StoreReleaseLock = LockOf<StoreReleaseMutex>;

}  // namespace shoal::sync
