#pragma once
// Reports of a scope. Of a stuck world: lists go up the tree, and the verdict goes down.

#include <string>
#include <vector>

#include "team/core_state.hpp"
#include "team/team_state.hpp"

namespace shoal::term {

/// Begins the report of this rank's subtree: nothing runs any more, and something waits.
void begin_stuck_report(CoreState& world) SHOAL_REQUIRES(world.mutex);
/// Adds the part of a rank. The last part completes the report of the subtree.
void add_stuck_part(CoreState& world, StuckPart part) SHOAL_REQUIRES(world.mutex);
/// Called when the world is stuck. `tasks_parked`: tasks are parked on some rank.
void on_verdict(CoreState& world, const std::string& text, bool tasks_parked)
    SHOAL_REQUIRES(world.mutex);

// --- state and waiting tasks

[[nodiscard]] ScopeState state_of(const CoreState& scope);
/// Returns lines about what a stuck world waits for on this rank.
[[nodiscard]] std::vector<std::string> describe_stuck(const CoreState& scope)
    SHOAL_REQUIRES(scope.mutex);

}  // namespace shoal::term
