#pragma once
// What a thread does between two looks at what another one is about to change.

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
