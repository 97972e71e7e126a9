#pragma once
// Counts of a scope and of all that are nested in it.

#include <cstdint>
#include <memory>
#include <optional>

#include "term/scope_core.hpp"

namespace shoal::term {

/// Counts of this scope and of all that are nested in it.
[[nodiscard]] Totals all_totals(const ScopeCore& scope);
/// Every task of the scope, here, has ended.
[[nodiscard]] bool is_at_rest_here(const ScopeCore& scope);
/// Messages of the scope, and of nested ones, that wait for their handlers.
[[nodiscard]] std::uint64_t all_held(const ScopeCore& scope);
/// Things of the scope that wait, without what is held.
[[nodiscard]] std::uint64_t count_unsatisfied(const ScopeCore& scope) SHOAL_REQUIRES(scope.mutex);
/// The member of the scope, or of one nested in it, stands in an operation of that.
[[nodiscard]] bool is_parked(const ScopeCore& scope) SHOAL_REQUIRES(scope.mutex);
/// The counts of this rank, if it is idle now.
[[nodiscard]] std::optional<Snapshot> take_snapshot(ScopeCore& scope) SHOAL_REQUIRES(scope.mutex);

// Completion of a scope, as its detector asks and tells.

/// Services of the detector, by this scope.
[[nodiscard]] std::unique_ptr<DetectorHost> make_detector_host(ScopeCore& scope);
/// The rank may have become idle. True: something was sent.
bool poll_detector(ScopeCore& scope);
/// The same for all nested scopes. Wakes their members, and takes out those that have ended.
bool poll_nested(ScopeCore& scope);
/// Nothing runs any more. `unsatisfied`: number of things that still wait.
void on_done(ScopeCore& scope, std::uint64_t unsatisfied, bool all_final)
    SHOAL_REQUIRES(scope.mutex);

}  // namespace shoal::term
