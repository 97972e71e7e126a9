#pragma once
// Members of a team: their waits in its operations.

#include "term/scope_core.hpp"

namespace shoal::term {

/// Waits in an operation of all members of a team, and throws its outcome.
void meet(ScopeCore& scope, const Standing& what, FunctionRef<bool()> is_over);
/// Waits until all members have called it and nothing of the team is left, or the outer scope has
/// failed.
void stand_until_ended(ScopeCore& scope);
/// In a task outside of the scope, which has failed: waits until none of its tasks is left here.
void drain(ScopeCore& scope);
/// Begins to handle messages.
void open_scope(ScopeCore& scope);

}  // namespace shoal::term
