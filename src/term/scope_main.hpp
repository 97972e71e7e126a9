#pragma once
// Waits of the main function, the member of the world.

#include "term/scope_core.hpp"

namespace shoal::term {

/// Parks the main function in the operation `what` of all ranks. `start` runs once it is parked,
/// and may unpark it.
[[nodiscard]] Outcome stand(ScopeCore& world, const Standing& what, bool final,
                            FunctionRef<void()> start);
/// See WorldScope::wait_for_end().
void wait_for_end(ScopeCore& world);

/// Fails the world, unless it has failed, and returns when nothing of it is left, on any rank.
/// `why`: for reports, of the wait. **Caller**: the main function.
void end_all(ScopeCore& world, FunctionRef<std::string()> text, const char* why);

}  // namespace shoal::term
