#pragma once
// Waits of a scope: of members in operations, of main functions, and of objects that end.

#include "team/scope_core.hpp"

namespace shoal::term {

/// Waits in an operation of all members of a team, and throws its outcome.
void meet(ScopeCore& scope, const Standing& what, FunctionRef<bool()> is_over);
/// Waits until all members have called it and nothing of the team is left, or the outer scope has
/// failed.
void stand_until_ended(ScopeCore& scope);
/// Waits, in a task outside a scope that has failed, until none of the scope's tasks is left on
/// this rank.
void drain(ScopeCore& scope);
/// Starts to handle messages of the scope.
void open_scope(ScopeCore& scope);

// --- the main function, the member of the world

/// Parks the main function in the operation `what` of all ranks. `start` runs once it is parked,
/// and may unpark it.
[[nodiscard]] Outcome stand(ScopeCore& world, const Standing& what, bool final,
                            FunctionRef<void()> start);
/// Waits until the main functions of all ranks have ended, see WorldScope::wait_for_end().
void wait_for_end(ScopeCore& world);

/// Fails the world, unless it has failed, and returns when nothing of it is left on any rank. `why`
/// is the reason of the wait in reports. **Caller**: the main function.
void end_all(ScopeCore& world, FunctionRef<std::string()> text, const char* why);

// --- cancellation

/// Removes the member from the operation in which it waits, if any.
void finish_park(ScopeCore& scope, Outcome outcome) SHOAL_REQUIRES(scope.mutex);
/// Wakes the member that finish_park() has removed. Called without the lock.
void wake_waiter(ScopeCore& scope);
/// Wakes the tasks in drain(), if everything has ended.
void wake_draining(ScopeCore& scope);

// --- objects that end while tasks may still use them

/// `source` ends: fails the scope, or the world, if tasks may still use it. See Scope::remove().
void end_use(ScopeCore& scope, const Unsatisfied& source) noexcept;

}  // namespace shoal::term
