#pragma once
// Locks of shoal that a thread holds, counted in builds with a sanitizer.

#include <shoal/detail/base/sanitizers.hpp>

#include <string_view>

namespace shoal::detail {

/// Whether this translation unit counts the locks that a thread holds. Other builds save the two
/// instructions for each lock; tools/check_throws reads their sources instead.
inline constexpr bool kCountsLocks = kAddressSanitizer || kThreadSanitizer;

/// Adds to the locks that this thread holds. No task is parked with one, so fibers share the count.
void count_held_locks(int change) noexcept;
/// Ends the process if this thread holds a counted lock: it is about to do what needs others to go
/// on, who may need the lock. `what`: "an exception is thrown".
void check_no_lock_held(std::string_view what, std::string_view text) noexcept;

}  // namespace shoal::detail
