#pragma once
// Pause of a thread between two reads of a value that another thread will change.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shoal::sync {

inline void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace shoal::sync
