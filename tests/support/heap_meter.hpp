#pragma once
// Counts what a test program takes from the heap, by the operator new of heap_meter.cpp. Under a
// sanitizer, which has its own operator new, it counts nothing.

#include "support/sizes.hpp"

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace shoal::testing {

class HeapMeter {
 public:
  static constexpr bool counts = !kSanitized;

  /// The most bytes in use since reset(), beyond those in use then.
  [[nodiscard]] static std::size_t growth_bytes() {
    const std::size_t peak = peak_.load(std::memory_order_relaxed);
    const std::size_t base = base_.load(std::memory_order_relaxed);
    return peak > base ? peak - base : 0;
  }
  /// Bytes in use now beyond those in use at reset().
  [[nodiscard]] static std::size_t kept_bytes() {
    const std::size_t live = live_.load(std::memory_order_relaxed);
    const std::size_t base = base_.load(std::memory_order_relaxed);
    return live > base ? live - base : 0;
  }
  /// Allocations since the program started.
  [[nodiscard]] static std::size_t allocation_count() {
    return count_.load(std::memory_order_relaxed);
  }
  static void reset() {
    base_ = live_.load(std::memory_order_relaxed);
    peak_ = base_.load(std::memory_order_relaxed);
  }

  static void* take(std::size_t size_bytes, std::size_t alignment) {
    void* memory =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(size_bytes == 0 ? 1 : size_bytes)
            : std::aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    // relaxed, all of them: statistics
    count_.fetch_add(1, std::memory_order_relaxed);
    const std::size_t bytes = malloc_usable_size(memory);
    const std::size_t live = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
    return memory;
  }
  static void give_back(void* memory) {
    if (memory == nullptr) return;
    live_.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
    std::free(memory);
  }

 private:
  static inline std::atomic<std::size_t> live_{0};
  static inline std::atomic<std::size_t> peak_{0};
  static inline std::atomic<std::size_t> base_{0};
  static inline std::atomic<std::size_t> count_{0};
};

}  // namespace shoal::testing
