#pragma once
// Large tables of which little is used.

#include <cstddef>
#include <type_traits>

namespace shoal::env {

/// Memory of zeros. Large ones are mapped: pages that were never written take none. **Errors**:
/// std::bad_alloc.
class ZeroedMemory {
 public:
  explicit ZeroedMemory(std::size_t size_bytes);
  ~ZeroedMemory();
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;

  [[nodiscard]] void* data() const { return data_; }

 private:
  const std::size_t size_bytes_;
  void* data_;
};

/// A table of counters or pointers, one for each rank of a world: they begin as zeros, and as most
/// ranks talk to few others, most pages of a large one are never written. Reading is no writing.
/// **Cost**: an access is that of a plain array.
template <class T>
class SparseArray {
  static_assert(std::is_trivially_destructible_v<T>, "an element whose bytes are zeros is a T");

 public:
  explicit SparseArray(std::size_t size)
      : size_(size), memory_(size * sizeof(T)), first_(static_cast<T*>(memory_.data())) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* data() { return first_; }
  [[nodiscard]] const T* data() const { return first_; }
  [[nodiscard]] T& operator[](std::size_t i) { return first_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return first_[i]; }
  [[nodiscard]] const T* begin() const { return first_; }
  [[nodiscard]] const T* end() const { return first_ + size_; }

 private:
  const std::size_t size_;
  const ZeroedMemory memory_;
  T* const first_;
};

}  // namespace shoal::env
