#pragma once
// Members that wait in an operation, and their cancellation.

#include "term/scope_core.hpp"

namespace shoal::term {

/// Takes the member out of the operation that it stands in, if it does.
void finish_park(ScopeCore& scope, Outcome outcome) SHOAL_REQUIRES(scope.mutex);
/// Wakes the member that was taken out. Called without the lock, after finish_park().
void wake_waiter(ScopeCore& scope);
/// Wakes those in drain(), if all has ended.
void wake_draining(ScopeCore& scope);

}  // namespace shoal::term
