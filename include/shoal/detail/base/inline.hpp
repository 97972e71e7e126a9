#pragma once
// A macro for small functions on hot paths.

#include <shoal/detail/base/language.hpp>

/// The function or lambda is inlined wherever it is called, if the compiler optimizes. Otherwise
/// that would only make programs large, and slow to compile.
#if defined(__OPTIMIZE__)
#define SHOAL_ALWAYS_INLINE __attribute__((always_inline))
#else
#define SHOAL_ALWAYS_INLINE
#endif
