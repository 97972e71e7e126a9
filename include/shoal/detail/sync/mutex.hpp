#pragma once
// A lock with the annotations that clang's thread-safety analysis checks.

#include <shoal/detail/base/held_locks.hpp>
#include <shoal/detail/base/sanitizers.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

#if defined(SHOAL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__clang__)
#define SHOAL_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SHOAL_THREAD_ANNOTATION(x)
#endif
#define SHOAL_CAPABILITY(x) SHOAL_THREAD_ANNOTATION(capability(x))
#define SHOAL_SCOPED_CAPABILITY SHOAL_THREAD_ANNOTATION(scoped_lockable)
#define SHOAL_GUARDED_BY(x) SHOAL_THREAD_ANNOTATION(guarded_by(x))
#define SHOAL_PT_GUARDED_BY(x) SHOAL_THREAD_ANNOTATION(pt_guarded_by(x))
#define SHOAL_REQUIRES(...) SHOAL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SHOAL_ACQUIRE(...) SHOAL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SHOAL_RELEASE(...) SHOAL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SHOAL_UNCHECKED_LOCKING SHOAL_THREAD_ANNOTATION(no_thread_safety_analysis)
#define SHOAL_TRY_ACQUIRE(...) SHOAL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

// Calls of ThreadSanitizer around the operations of a lock; nothing without ThreadSanitizer. It
// ignores the atomic operations between a `before` and its `after`.
namespace shoal::sync::thread_sanitizer {

#if defined(SHOAL_TSAN)
inline void before_lock(void* mutex) { __tsan_mutex_pre_lock(mutex, 0); }
inline void after_lock(void* mutex) { __tsan_mutex_post_lock(mutex, 0, 0); }
inline void before_try_lock(void* mutex) { __tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock); }
inline void after_try_lock(void* mutex, bool locked) {
  const unsigned failed = locked ? 0 : __tsan_mutex_try_lock_failed;
  __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock | failed, 0);
}
inline void before_unlock(void* mutex) { static_cast<void>(__tsan_mutex_pre_unlock(mutex, 0)); }
inline void after_unlock(void* mutex) { __tsan_mutex_post_unlock(mutex, 0); }
#else
inline void before_lock(void* /*mutex*/) {}
inline void after_lock(void* /*mutex*/) {}
inline void before_try_lock(void* /*mutex*/) {}
inline void after_try_lock(void* /*mutex*/, bool /*locked*/) {}
inline void before_unlock(void* /*mutex*/) {}
inline void after_unlock(void* /*mutex*/) {}
#endif

}  // namespace shoal::sync::thread_sanitizer

namespace shoal::sync {

/// A mutual-exclusion lock for a few instructions at a time: lock and unlock are inline, with one
/// atomic operation each. A waiter spins a little and then sleeps; a spinning waiter gets the lock
/// even from a thread that takes it again and again. Never held while a task suspends, nor while
/// code of the program runs, except the functions of a graph that name waiting tasks in a
/// StuckError.
/// **Source**: U. Drepper, "Futexes Are Tricky", 2011, mutex3.
///
/// Invariant: kContended is stored by every thread that is about to sleep, and by the one that was
/// woken; so unlock() finds it while a thread sleeps, and wakes one.
class SHOAL_CAPABILITY("mutex") PlainMutex {
 public:
  PlainMutex() = default;
  PlainMutex(const PlainMutex&) = delete;
  PlainMutex& operator=(const PlainMutex&) = delete;

  void lock() SHOAL_ACQUIRE() {
    if (!try_lock()) lock_slowly();
  }
  void unlock() SHOAL_RELEASE() {
    // release pairs with the acquire of the next owner, who may destroy the mutex at once: waking
    // uses its address only
    const std::uint32_t state = state_.exchange(kFree, std::memory_order_release);
    if (state != kLocked) [[unlikely]] {
      let_in(state);
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
  static constexpr std::uint32_t kContended = 2;  // locked, and perhaps a thread sleeps
  static constexpr std::uint32_t kAwaited = 3;    // locked, and a thread spins, or did
  void lock_slowly() SHOAL_UNCHECKED_LOCKING;
  void let_in(std::uint32_t state);

  std::atomic<std::uint32_t> state_{kFree};
};

/// A mutex that reports its owner to ThreadSanitizer, so that it finds locks taken in orders that
/// may deadlock, and races in spite of the atomic operations of the mutex. Same layout as M.
template <class M>
class SHOAL_CAPABILITY("mutex") Watched {
 public:
  void lock() SHOAL_ACQUIRE() SHOAL_UNCHECKED_LOCKING {
    thread_sanitizer::before_lock(&mutex_);
    mutex_.lock();
    thread_sanitizer::after_lock(&mutex_);
  }
  void unlock() SHOAL_RELEASE() SHOAL_UNCHECKED_LOCKING {
    thread_sanitizer::before_unlock(&mutex_);
    mutex_.unlock();
    thread_sanitizer::after_unlock(&mutex_);
  }
  [[nodiscard]] bool try_lock() SHOAL_TRY_ACQUIRE(true) SHOAL_UNCHECKED_LOCKING {
    thread_sanitizer::before_try_lock(&mutex_);
    const bool locked = mutex_.try_lock();
    thread_sanitizer::after_try_lock(&mutex_, locked);
    return locked;
  }

 private:
  M mutex_;
};

using Mutex = std::conditional_t<kThreadSanitizer, Watched<PlainMutex>, PlainMutex>;

/// Holds a mutex of type M for a scope, in which no exception is thrown: one of a main function is
/// looked at before its stack unwinds (runtime/main_throws.hpp), and that waits for other tasks,
/// which may need the lock. tools/check_throws refuses such code; see locked().
template <class M, bool kCounted = shoal::detail::kCountsLocks>
class SHOAL_SCOPED_CAPABILITY LockOf {
 public:
  explicit LockOf(M& mutex) SHOAL_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.lock();
    if constexpr (kCounted) shoal::detail::count_held_locks(1);
  }
  ~LockOf() SHOAL_RELEASE() {
    if constexpr (kCounted) shoal::detail::count_held_locks(-1);
    mutex_.unlock();
  }
  LockOf(const LockOf&) = delete;
  LockOf& operator=(const LockOf&) = delete;

 private:
  M& mutex_;
};

using Lock = LockOf<Mutex>;

/// Calls `f` with the mutex locked, and returns its result. `f` may throw: the search for a handler
/// ends here, with the lock held, the lock is released, and another search begins without it.
template <class M, class F>
decltype(auto) locked(M& mutex, F f) SHOAL_UNCHECKED_LOCKING {
  try {
    const LockOf<M, false> lock(mutex);
    return f();
  } catch (...) {
    throw;
  }
}

}  // namespace shoal::sync
