#pragma once
// Sizes of tests: smaller where a sanitizer makes every step slow.

#include <shoal/detail/base/sanitizers.hpp>

#include <algorithm>

namespace shoal::testing {

inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

/// `full`, or `sanitized` under a sanitizer.
constexpr int sized(int full, int sanitized) { return kSanitized ? sanitized : full; }

/// The same for seeds of runs on one thread, in which ThreadSanitizer sees no more than one shows.
constexpr int sized_on_one_thread(int full, int sanitized) {
  return kThreadSanitizer ? std::min(sanitized, 1) : sized(full, sanitized);
}

}  // namespace shoal::testing
