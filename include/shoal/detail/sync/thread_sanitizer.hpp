#pragma once
// ThreadSanitizer's calls around the operations of a lock; nothing without ThreadSanitizer. It
// ignores the atomic operations between a `before` and its `after`.

#include <shoal/detail/base/sanitizers.hpp>

#if defined(SHOAL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

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
