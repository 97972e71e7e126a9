#pragma once
// Memory that the program frees and takes again.

#include <cstddef>

namespace shoal::env {

/// Lets glibc's malloc keep freed memory in the process, instead of giving it back to the system
/// and taking fresh pages for the next block, each of which is a page fault. It does so by itself
/// once a program has freed a block of 32 MiB: from then on blocks below that come from the heap,
/// of whose end 64 MiB stay. This frees such a block, which is never touched. No effect where the
/// program (mallopt()) or the environment (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_,
/// MALLOC_TOP_PAD_, GLIBC_TUNABLES) has set a threshold of malloc, and with another malloc, such as
/// those of sanitizers.
void keep_freed_memory();

/// How malloc treats freed blocks of up to 24 MiB.
enum class FreedMemory {
  kept,      // they stay in the process
  returned,  // thresholds that the program or the environment has set give them to the system
  unknown,   // another malloc than glibc's
};
/// Finds out with a block that is never touched. **Caller**: while no other thread allocates much.
[[nodiscard]] FreedMemory treatment_of_freed_memory();

/// Asks for huge pages in a block of 4 MiB or more that has not been touched, as numpy does for its
/// arrays. A copy between processes looks up each page, and a processor its addresses. Nothing
/// where the system has no such pages, or gives them without being asked. **Cost**: a system call.
void prefer_huge_pages(void* begin, std::size_t size_bytes) noexcept;

/// A stack may have been at these addresses before, and left AddressSanitizer's marks of its
/// frames.
/// **Cost**: a system call, and that of the pages with marks; nothing without that sanitizer.
void forget_frames(void* begin, std::size_t size_bytes);

}  // namespace shoal::env
