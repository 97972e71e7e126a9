#pragma once
// Memory for objects that come and go by the million, tasks and packets, made on one thread and
// destroyed on another.

#include <cstddef>

namespace shoal::sync {

/// Uninitialized memory, aligned to 64 bytes. Any thread. Throws std::bad_alloc.
///
/// Each thread keeps a few blocks of each size by itself and exchanges them with a common depot in
/// magazines of many, under a lock: a block costs neither a lock nor a call of the system's
/// allocator. Blocks of more than kPooledBytesMax come from operator new. Memory is handed back
/// when no block of a size is in use any more and trim_blocks() is called. Under AddressSanitizer
/// and ThreadSanitizer everything comes from operator new, so that they see every use.
/// **Source**: J. Bonwick, J. Adams, "Magazines and Vmem", USENIX 2001.
[[nodiscard]] void* take_block(std::size_t size_bytes);

/// Takes back what take_block(size_bytes) gave. Any thread.
void give_block(void* block, std::size_t size_bytes) noexcept;

/// Gives the calling thread's blocks to the depot, and hands back the memory of sizes of which all
/// blocks are there. Other threads' blocks come to the depot when the threads end.
void trim_blocks() noexcept;

/// Bytes that the pool holds, in use or not. For tests and reports.
[[nodiscard]] std::size_t pooled_bytes() noexcept;

/// Up to 512 bytes, sizes are rounded up to a multiple of 64; above, to 128 more than a power of
/// two: a packet of 8 KiB and what stands before it fits one size.
inline constexpr std::size_t kPooledBytesMax = (16UL << 10U) + 128;

/// The same for containers and std::allocate_shared.
template <class T>
struct BlockAllocator {
  using value_type = T;
  static_assert(alignof(T) <= 64);
  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(take_block(count * sizeof(T)));
  }
  void deallocate(T* first, std::size_t count) noexcept { give_block(first, count * sizeof(T)); }
  bool operator==(const BlockAllocator&) const = default;
};

}  // namespace shoal::sync
