#pragma once
// Objects of one thread each.

#include <cxxabi.h>

#include <utility>

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): of the compiler
extern "C" void* __dso_handle;

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
    mine = new T;
    // As a thread_local with a destructor does, which has a guard of 8 bytes more.
    abi::__cxa_thread_atexit([](void* /*unused*/) { delete std::exchange(mine, nullptr); }, nullptr,
                             &__dso_handle);
  }
  return *mine;
}

}  // namespace shoal
