#pragma once
// Objects of one thread each.

#include <utility>

namespace shoal {

/// The T of the calling thread. It is made at the first call and destroyed with the thread; one
/// that the end of a thread makes anew stays until the process ends.
///
/// Only a pointer is thread-local: the loader has little room for thread-local data that is reached
/// without a call, and a shared library that needs more cannot be loaded by dlopen().
template <class T>
[[nodiscard]] T& of_this_thread() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of one thread
  [[gnu::tls_model("initial-exec")]] static constinit thread_local T* mine = nullptr;
  if (mine == nullptr) [[unlikely]] {
    struct AtExit {
      ~AtExit() { delete std::exchange(mine, nullptr); }
    };
    mine = new T;
    static thread_local const AtExit t_at_exit;
    static_cast<void>(t_at_exit);
  }
  return *mine;
}

}  // namespace shoal
