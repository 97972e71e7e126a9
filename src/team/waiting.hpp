#pragma once
// Waits of a scope: of members in operations, of main functions, and of objects that end.

#include "team/core_state.hpp"

namespace shoal::term {

/// Waits in an operation of all members of a team, and throws its outcome.
void meet(CoreState& scope, const Standing& what, FunctionRef<bool()> is_over);
/// Waits until all members have called it and nothing of the team is left, or the outer scope has
/// failed.
void stand_until_ended(CoreState& scope);
/// Waits, in a task outside a scope that has failed, until none of the scope's tasks is left on
/// this rank.
void drain(CoreState& scope);
/// Starts to handle messages of the scope.
void open_scope(CoreState& scope);

// --- the main function, the member of the world

/// Parks the main function in the operation `what` of all ranks. `start` runs once it is parked,
/// and may unpark it.
[[nodiscard]] Outcome stand(CoreState& world, const Standing& what, bool final,
                            FunctionRef<void()> start);
/// Waits until the main functions of all ranks have ended, see TeamCore::wait_for_end().
void wait_for_end(CoreState& world);

/// Fails the world, unless it has failed, and returns when nothing of it is left on any rank. `why`
/// is the reason of the wait in reports. **Caller**: the main function.
void end_all(CoreState& world, FunctionRef<std::string()> text, const char* why);

// --- cancellation

/// Removes the member from the operation in which it waits, if any.
void finish_park(CoreState& scope, Outcome outcome) SHOAL_REQUIRES(scope.mutex);
/// Wakes the member that finish_park() has removed. Called without the lock.
void wake_waiter(CoreState& scope);
/// Wakes the tasks in drain(), if everything has ended.
void wake_draining(CoreState& scope);

// --- objects that end while tasks may still use them

/// `source` ends: fails the scope, or the world, if tasks may still use it. See Scope::remove().
void end_use(CoreState& scope, const Unsatisfied& source) noexcept;

}  // namespace shoal::term
