#pragma once
// Sizes of tests: smaller where a sanitizer makes every step slow.

#include <shoal/base/sanitizers.hpp>

namespace shoal::testing {

inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

/// `full`, or `sanitized` under a sanitizer.
constexpr int sized(int full, int sanitized) { return kSanitized ? sanitized : full; }

}  // namespace shoal::testing
