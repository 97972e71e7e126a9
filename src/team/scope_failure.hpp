#pragma once
// Failure of a scope: recorded, sent to all members, and thrown where they wait.

#include "team/scope_core.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::term {

/// Calls `step`; if it throws std::bad_alloc, frees the reserve and calls it again. If that throws
/// std::bad_alloc, too, the process ends.
void insist(ScopeCore& scope, FunctionRef<void()> step);

/// Fails the scope, unless it has failed.
void fail_with(ScopeCore& scope, std::string_view task_name, FunctionRef<std::string()> text);
/// Fails the scope because an outer scope has failed.
void fail_from_outside(ScopeCore& scope, const TaskError& error);
[[nodiscard]] std::optional<TaskError> failure_of(const ScopeCore& scope);
/// Fails the promises of a scope that has failed, see Scope::give_up_promises().
void give_up_promises(ScopeCore& scope);
/// Fails the outer scope, unless the failure was thrown on a member. Called when no member waits
/// for the team any more.
void pass_failure_outwards(ScopeCore& scope);

// Control messages. Failures go up the tree to the root, which sends them down to all ranks.
void on_failure_up(ScopeCore& scope, Rank origin, const std::string& task_name,
                   const std::string& text);
void on_failure_down(ScopeCore& scope, Rank origin, const std::string& task_name,
                     const std::string& text);
/// Called because messages of this team wait on `asking`, a rank of the world where the team does
/// not exist.
void on_ask(ScopeCore& scope, Rank asking);

/// Throws the failure, and records that it was thrown on this member.
[[noreturn]] void throw_failure(ScopeCore& scope);
/// Throws a StuckError with the list of waiting things.
[[noreturn]] void throw_stuck(ScopeCore& scope);
/// Throws the outcome of the member's wait, if it is an error.
void throw_outcome(ScopeCore& scope, Outcome outcome);
/// Returns the failure, if it was not thrown on this member; else nullptr.
[[nodiscard]] std::exception_ptr tell_of_failure(ScopeCore& scope);

}  // namespace shoal::term
