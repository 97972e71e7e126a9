#pragma once
// Allocators of vectors in messages: with the memory of std::allocator, and with other memory.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace shoal::testing {

/// Leaves elements uninitialized; its memory is that of std::allocator.
template <class T>
struct Uninitialized : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uninitialized<U>;
  };
  Uninitialized() = default;
  template <class U>
  explicit Uninitialized(const Uninitialized<U>& /*other*/) {}
  template <class U>
  static void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Args>
  static void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
};
/// Has memory of its own kind, with a mark before it. Aborts if it is given other memory.
template <class T>
struct Marked {
  using value_type = T;
  static constexpr std::size_t kMark_bytes = 64;
  Marked() = default;
  template <class U>
  explicit Marked(const Marked<U>& /*other*/) {}
  T* allocate(std::size_t count) {
    auto* const block = static_cast<std::byte*>(::operator new(kMark_bytes + count * sizeof(T)));
    *block = std::byte{42};
    return reinterpret_cast<T*>(block + kMark_bytes);
  }
  void deallocate(T* place, std::size_t /*count*/) {
    auto* const block = reinterpret_cast<std::byte*>(place) - kMark_bytes;
    if (*block != std::byte{42}) std::abort();
    ::operator delete(block);
  }
  bool operator==(const Marked&) const = default;
};

}  // namespace shoal::testing
