#pragma once
// Scopes of teams, nested in the scope of the team on whose ranks they were made.

#include "team/core_state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::term {

/// Returns the scopes nested directly in this one.
[[nodiscard]] std::vector<std::shared_ptr<CoreState>> nested_in(const CoreState& scope);
/// Returns the nested scope at this index, or nullptr: for loops that may miss one while others
/// end.
[[nodiscard]] std::shared_ptr<CoreState> nested_at(const CoreState& scope, std::size_t index);
/// Returns the owner of a nested scope, which has not ended.
[[nodiscard]] std::shared_ptr<CoreState> owner_of(const CoreState& scope);
/// Returns the scope of a team of this rank, or nullptr.
[[nodiscard]] std::shared_ptr<CoreState> find_scope(CoreState& world, std::uint64_t team);
/// Returns the scope of a team of this rank; if there is none, returns nullptr and keeps `control`
/// for it.
[[nodiscard]] std::shared_ptr<CoreState> find_or_keep(
    CoreState& world, std::uint64_t team, FunctionRef<TeamDirectory::EarlyControl()> control);
/// Enters a scope in the directory, where it is found from now on, if no control messages for it
/// have arrived before; else returns these.
[[nodiscard]] std::vector<TeamDirectory::EarlyControl> enter_directory(
    const std::shared_ptr<CoreState>& scope);
/// Returns whether the scope has ended, and nothing on this rank refers to it.
[[nodiscard]] bool has_ended(const CoreState& scope);
/// Removes a scope that has ended from its outer one.
void sweep(const std::shared_ptr<CoreState>& ended);

}  // namespace shoal::term
