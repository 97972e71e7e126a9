#pragma once
// Completion of a scope: its counts, and what its detector asks and tells.

#include <cstdint>
#include <memory>
#include <optional>

#include "team/core_state.hpp"

namespace shoal::term {

/// Returns the counts of this scope and of all scopes nested in it.
[[nodiscard]] Totals all_totals(const CoreState& scope);
/// Returns whether every task of the scope on this rank has ended.
[[nodiscard]] bool is_at_rest_here(const CoreState& scope);
/// Returns the number of messages of the scope, and of nested ones, that wait for their handlers.
[[nodiscard]] std::uint64_t all_held(const CoreState& scope);
/// Returns the number of things of the scope that wait, without messages that wait for their
/// handlers.
[[nodiscard]] std::uint64_t count_unsatisfied(const CoreState& scope) SHOAL_REQUIRES(scope.mutex);
/// Returns whether the member of the scope, or of one nested in it, waits in an operation of that
/// scope.
[[nodiscard]] bool is_parked(const CoreState& scope) SHOAL_REQUIRES(scope.mutex);
/// Returns the counts of this rank, if it is idle now.
[[nodiscard]] std::optional<Snapshot> take_snapshot(CoreState& scope) SHOAL_REQUIRES(scope.mutex);

/// Makes the services that the scope provides for its detector.
[[nodiscard]] std::unique_ptr<DetectorHost> make_detector_host(CoreState& scope);
/// Called when the rank may have become idle; returns whether the detector has sent a message.
bool poll_detector(CoreState& scope);
/// Called when a worker of the rank has run out of work; returns whether it gave rise to something.
bool poll_idle(CoreState& world);
/// Polls the detectors of all nested scopes; returns whether one of them has sent a message. Wakes
/// the members of nested scopes, and removes the scopes that have ended.
bool poll_nested(CoreState& scope);
/// Called when nothing runs any more. `unsatisfied`: number of things that still wait.
void on_done(CoreState& scope, std::uint64_t unsatisfied, bool all_final)
    SHOAL_REQUIRES(scope.mutex);

}  // namespace shoal::term
