#include "env/freed_memory.hpp"

#include <shoal/detail/base/sanitizers.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef SHOAL_ASAN
#include <sanitizer/asan_interface.h>
#include <unistd.h>
#endif

namespace shoal::env {

namespace {

/// Calls `between` while a block is allocated. Compilers leave out pairs of malloc() and free(),
/// but not around a volatile pointer.
template <class Between>
void with_block(std::size_t size_bytes, const Between& between) {
  void* volatile const block = std::malloc(size_bytes);
  if (block != nullptr) between();
  std::free(block);
}

}  // namespace

// glibc adapts its thresholds to mapped blocks of at most 32 MiB, with their header. Sanitizers
// would mark all of the block.
void keep_freed_memory() {
  constexpr std::size_t kLargestBytes = (32UL << 20U) - 8192;
  if constexpr (!kAddressSanitizer && !kThreadSanitizer) with_block(kLargestBytes, [] {});
}

FreedMemory treatment_of_freed_memory() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  constexpr std::size_t kBlockBytes = 24UL << 20U;
  const struct mallinfo2 before = mallinfo2();
  struct mallinfo2 during = before;
  with_block(kBlockBytes, [&during] { during = mallinfo2(); });
  if (during.hblkhd > before.hblkhd) return FreedMemory::returned;
  if (during.uordblks >= before.uordblks + kBlockBytes) return FreedMemory::kept;
#endif
  return FreedMemory::unknown;
}

void prefer_huge_pages(void* begin, std::size_t size_bytes) noexcept {
  constexpr std::uintptr_t kHugeBytes = 2UL << 20U;
  if (size_bytes < 2 * kHugeBytes) return;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t whole_from = (from + kHugeBytes - 1) / kHugeBytes * kHugeBytes;
  const std::uintptr_t whole_bytes = (from + size_bytes - whole_from) / kHugeBytes * kHugeBytes;
  static_cast<void>(madvise(reinterpret_cast<void*>(whole_from), whole_bytes, MADV_HUGEPAGE));
}

#ifdef SHOAL_ASAN
// Whole pages of marks go back to the system, and are zero when they are read again: most stacks
// have touched a thousandth of what they may.
void forget_frames(void* begin, std::size_t size_bytes) {
  std::size_t scale = 0;
  std::size_t offset = 0;
  __asan_get_shadow_mapping(&scale, &offset);
  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)) << scale;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t to = from + size_bytes;
  const std::uintptr_t whole_from = (from + page - 1) / page * page;
  const std::uintptr_t whole_to = to / page * page;
  const auto forget = [](std::uintptr_t first, std::uintptr_t last) {
    __asan_unpoison_memory_region(reinterpret_cast<void*>(first), last - first);
  };
  const auto marks = [&](std::uintptr_t place) { return (place >> scale) + offset; };
  if (whole_from >= whole_to || madvise(reinterpret_cast<void*>(marks(whole_from)),
                                        marks(whole_to) - marks(whole_from), MADV_DONTNEED) != 0) {
    forget(from, to);
    return;
  }
  forget(from, whole_from);
  forget(whole_to, to);
}
#else
void forget_frames(void* /*begin*/, std::size_t /*size_bytes*/) {}
#endif

}  // namespace shoal::env
