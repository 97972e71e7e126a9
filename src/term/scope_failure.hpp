#pragma once
// Failure of a scope: recorded, sent to all members, and thrown where they wait.

#include "term/scope_core.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::term {

/// Runs `step` again, with the reserve given back, if it throws std::bad_alloc. If it does so
/// again, the process ends.
void insist(ScopeCore& scope, FunctionRef<void()> step);

/// Fails the scope, unless it has failed.
void fail_with(ScopeCore& scope, std::string_view task_name, FunctionRef<std::string()> text);
/// The outer scope has failed.
void fail_from_outside(ScopeCore& scope, const TaskError& error);
[[nodiscard]] std::optional<TaskError> failure_of(const ScopeCore& scope);
/// See Scope::give_up_promises().
void give_up_promises(ScopeCore& scope);
/// Fails the outer scope, unless a member was told. No member waits for the team any more.
void pass_failure_outwards(ScopeCore& scope);

// Control messages. Failures go up the tree to the root, which sends them down to all ranks.
void on_failure_up(ScopeCore& scope, Rank origin, const std::string& task_name,
                   const std::string& text);
void on_failure_down(ScopeCore& scope, Rank origin, const std::string& task_name,
                     const std::string& text);
/// Messages of this team wait on `asking`, a rank of the world where the team does not exist.
void on_ask(ScopeCore& scope, Rank asking);

/// Throws the failure, of which the member has heard then.
[[noreturn]] void throw_failure(ScopeCore& scope);
/// Throws what waits in a stuck world.
[[noreturn]] void throw_stuck(ScopeCore& scope);
/// Throws the outcome for which the member was taken out of its wait, if it is an error.
void throw_outcome(ScopeCore& scope, Outcome outcome);
/// The failure, if the member has not heard of it; else nullptr.
[[nodiscard]] std::exception_ptr tell_of_failure(ScopeCore& scope);

}  // namespace shoal::term
