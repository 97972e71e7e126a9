#pragma once
// Failure of a scope: recorded, sent to all members, and thrown where they wait.

#include "team/core_state.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::term {

/// Calls `step`; if it throws std::bad_alloc, frees the reserve and calls it again. If that throws
/// std::bad_alloc, too, the process ends.
void insist(CoreState& scope, FunctionRef<void()> step);

/// Fails the scope, unless it has failed.
void fail_with(CoreState& scope, std::string_view task_name, FunctionRef<std::string()> text);
/// Fails the scope because an outer scope has failed.
void fail_from_outside(CoreState& scope, const TaskError& error);
[[nodiscard]] std::optional<TaskError> failure_of(CoreState& scope);
/// Takes up the errors that tasks have left in this scope and in nested ones: fails these scopes.
/// Returns whether there were some.
bool take_errors(CoreState& scope);
/// Fails the promises of a scope that has failed, see Scope::give_up_promises().
void give_up_promises(CoreState& scope);
/// Fails the outer scope, unless the failure was thrown on a member. Called when no member waits
/// for the team any more.
void pass_failure_outwards(CoreState& scope);

// Control messages. Failures go up the tree to the root, which sends them down to all ranks.
void on_failure_up(CoreState& scope, Rank origin, const std::string& task_name,
                   const std::string& text);
void on_failure_down(CoreState& scope, Rank origin, const std::string& task_name,
                     const std::string& text);
/// Called because messages of this team wait on `asking`, a rank of the world where the team does
/// not exist.
void on_ask(CoreState& scope, Rank asking);

/// Throws the failure, and records that it was thrown on this member.
[[noreturn]] void throw_failure(CoreState& scope);
/// Throws a StuckError with the list of waiting things.
[[noreturn]] void throw_stuck(CoreState& scope);
/// Throws the outcome of the member's wait, if it is an error.
void throw_outcome(CoreState& scope, Outcome outcome);
/// Returns the failure, if it was not thrown on this member; else nullptr.
[[nodiscard]] std::exception_ptr tell_of_failure(CoreState& scope);

}  // namespace shoal::term
