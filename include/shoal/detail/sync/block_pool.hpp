#pragma once
// Memory for objects that come and go by the million, tasks and packets, made on one thread and
// destroyed on another.

#include <shoal/detail/base/language.hpp>

#include <bit>
#include <cstddef>
#include <new>

namespace shoal::sync {

/// Up to 512 bytes, sizes are rounded up to a multiple of 64; above, to 128 more than a power of
/// two: a packet of 8 KiB with its header fits one size.
inline constexpr std::size_t kPooledBytesMax = (16UL << 10U) + 128;

namespace detail {

inline constexpr std::size_t kBlockGrain = 64;
inline constexpr std::size_t kSmallBlockSizes = 8;
inline constexpr std::size_t kBehindPower = 128;

/// Index of the smallest block size that holds `bytes`.
constexpr std::size_t block_size_of(std::size_t bytes) {
  if (bytes <= kSmallBlockSizes * kBlockGrain) return (bytes - 1) / kBlockGrain;
  return kSmallBlockSizes +
         static_cast<std::size_t>(std::bit_width((bytes - kBehindPower - 1) >> 10U));
}
constexpr bool is_pooled(std::size_t bytes) { return bytes - 1 < kPooledBytesMax; }  // nor 0
// Whether there is a pool at all, the library alone knows: a program may be built otherwise.
[[nodiscard]] void* take_pooled(std::size_t size, std::size_t size_bytes);
void give_pooled(void* block, std::size_t size) noexcept;

}  // namespace detail

/// Uninitialized memory, aligned to 64 bytes. Any thread. Throws std::bad_alloc.
///
/// Each thread keeps a few blocks of each size by itself and exchanges them with a common depot in
/// magazines of many, under a lock: a block costs neither a lock nor a call of the system's
/// allocator. Blocks of more than kPooledBytesMax come from operator new. Memory is handed back
/// when no block of a size is in use any more and trim_blocks() is called. Under AddressSanitizer
/// and ThreadSanitizer everything comes from operator new, so that they see every use.
/// **Source**: J. Bonwick, J. Adams, "Magazines and Vmem", USENIX 2001.
[[nodiscard]] inline void* take_block(std::size_t size_bytes) {
  if (detail::is_pooled(size_bytes)) {
    return detail::take_pooled(detail::block_size_of(size_bytes), size_bytes);
  }
  return ::operator new(size_bytes, std::align_val_t(detail::kBlockGrain));
}

/// Takes back what take_block(size_bytes) gave. Any thread.
inline void give_block(void* block, std::size_t size_bytes) noexcept {
  if (detail::is_pooled(size_bytes)) {
    detail::give_pooled(block, detail::block_size_of(size_bytes));
  } else {
    ::operator delete(block, std::align_val_t(detail::kBlockGrain));
  }
}

/// Gives the calling thread's blocks to the depot, and hands back the memory of sizes of which all
/// blocks are there. Other threads' blocks come to the depot when the threads end.
void trim_blocks() noexcept;

/// Bytes that the pool holds, in use or not. For tests and reports.
[[nodiscard]] std::size_t pooled_bytes() noexcept;

/// A base of those that `new` takes from the pool.
struct Pooled {
  static void* operator new(std::size_t size_bytes) { return take_block(size_bytes); }
  static void operator delete(void* memory, std::size_t size_bytes) noexcept {
    give_block(memory, size_bytes);
  }
  static void* operator new(std::size_t size_bytes, std::align_val_t alignment) {
    return ::operator new(size_bytes, alignment);
  }
  static void operator delete(void* memory, std::align_val_t alignment) noexcept {
    ::operator delete(memory, alignment);
  }
};

}  // namespace shoal::sync
