#pragma once
// A macro for small functions on hot paths.

/// Before `inline`: the function is inlined wherever it is called, where the compiler optimizes.
/// Elsewhere that would only make programs large, and slow to compile.
#if defined(__OPTIMIZE__)
#define SHOAL_ALWAYS_INLINE __attribute__((always_inline))
#else
#define SHOAL_ALWAYS_INLINE
#endif
