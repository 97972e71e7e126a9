#pragma once
// Asking for memory before it is used.

namespace shoal::sync {

/// Brings a cache line here, to be written: __builtin_prefetch() asks for a copy that others keep,
/// too, unless the compiler may use newer instructions. Any address, even outside of allocated
/// memory.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace shoal::sync
