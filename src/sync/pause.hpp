#pragma once
// Pause of a thread between two reads of a value that another thread will change.

namespace shoal::sync {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();  // <immintrin.h> takes long to compile
#endif
}

}  // namespace shoal::sync
