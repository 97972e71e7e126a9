#pragma once
// Reports of a scope: its state, and its waiting tasks.

#include "term/scope_core.hpp"
#include "term/scope_state.hpp"

#include <string>
#include <vector>

namespace shoal::term {

[[nodiscard]] ScopeState state_of(const ScopeCore& scope);
/// Lines about what a stuck world waits for on this rank.
[[nodiscard]] std::vector<std::string> describe_stuck(const ScopeCore& scope)
    SHOAL_REQUIRES(scope.mutex);

}  // namespace shoal::term
