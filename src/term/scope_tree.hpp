#pragma once
// Scopes of teams, nested in the scope of the team on whose ranks they were made.

#include "term/scope_core.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::term {

/// Scopes nested directly in this one.
[[nodiscard]] std::vector<std::shared_ptr<ScopeCore>> nested_in(const ScopeCore& scope);
/// The one at this place, or nullptr: for looks that may leave out one while others end.
[[nodiscard]] std::shared_ptr<ScopeCore> nested_at(const ScopeCore& scope, std::size_t index);
/// Owner of a nested scope, which has not ended.
[[nodiscard]] std::shared_ptr<ScopeCore> owner_of(const ScopeCore& scope);
/// The scope of a team of this rank, or nullptr.
[[nodiscard]] std::shared_ptr<ScopeCore> find_scope(ScopeCore& world, std::uint64_t team);
/// The same; where there is none, `control` is kept for it.
[[nodiscard]] std::shared_ptr<ScopeCore> find_or_keep(
    ScopeCore& world, std::uint64_t team, FunctionRef<TeamDirectory::EarlyControl()> control);
/// Control messages that came before their scope. None: it is found from now on.
[[nodiscard]] std::vector<TeamDirectory::EarlyControl> enter_directory(
    const std::shared_ptr<ScopeCore>& scope);
/// The scope has ended, and nothing here refers to it.
[[nodiscard]] bool has_ended(const ScopeCore& scope);
/// Takes a scope that has ended out of its outer one.
void sweep(const std::shared_ptr<ScopeCore>& ended);
/// Opens the handlers of this scope and of nested ones. Called by the main function, to wait.
void open_all_handlers(const ScopeCore& scope);

}  // namespace shoal::term
