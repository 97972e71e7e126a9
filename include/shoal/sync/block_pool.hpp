#pragma once
// Memory for small objects that come and go by the million, made on one thread and destroyed on
// another.

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

inline constexpr std::size_t kPooledBytesMax = 512;

}  // namespace shoal::sync
