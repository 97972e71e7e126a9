#pragma once
// Sizes of tests: smaller where a sanitizer makes every step slow.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHOAL_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHOAL_TEST_SANITIZED 1
#endif
#endif

namespace shoal::testing {

#ifdef SHOAL_TEST_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// `full`, or `sanitized` under a sanitizer.
constexpr int sized(int full, int sanitized) { return kSanitized ? sanitized : full; }

}  // namespace shoal::testing
