#pragma once
// Threads that the system refuses. Include it in one file of a program: it replaces pthread_create.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace shoal::testing {

/// While it lives, the first `count` threads of the process can be started, and no more.
class ThreadLimit {
 public:
  explicit ThreadLimit(int count) { left_ = count; }
  ~ThreadLimit() { left_ = kNone; }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  [[nodiscard]] static bool take() { return left_ == kNone || left_-- > 0; }

 private:
  static constexpr int kNone = 1 << 30;
  static inline std::atomic<int> left_{kNone};
};

}  // namespace shoal::testing

// ThreadSanitizer sees the threads that its own function starts.
extern "C" [[gnu::weak]] int __interceptor_pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*start)(void*), void* argument);

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  using Create = decltype(&pthread_create);
  static const auto create = __interceptor_pthread_create != nullptr
                                 ? &__interceptor_pthread_create
                                 : reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!shoal::testing::ThreadLimit::take()) return EAGAIN;
  return create(thread, attributes, start, argument);
}
