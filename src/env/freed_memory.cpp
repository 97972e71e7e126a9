#include "env/freed_memory.hpp"

#include <cstddef>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
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

// glibc adapts its thresholds to mapped blocks of at most 32 MiB, with their header.
void keep_freed_memory() {
  constexpr std::size_t kLargestBytes = (32UL << 20U) - 8192;
  with_block(kLargestBytes, [] {});
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

}  // namespace shoal::env
