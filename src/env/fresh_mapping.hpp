#pragma once
// Memory that was just mapped, for AddressSanitizer.

#include <shoal/detail/base/sanitizers.hpp>

#include <cstddef>

#ifdef SHOAL_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace shoal::env {

/// A stack may have been at these addresses before, and left the sanitizer's marks of its frames.
inline void forget_frames([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t size_bytes) {
#ifdef SHOAL_ASAN
  __asan_unpoison_memory_region(begin, size_bytes);
#endif
}

}  // namespace shoal::env
