#pragma once
// Counts of a scope and of all that are nested in it.

#include "term/scope_core.hpp"

#include <cstdint>
#include <optional>

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

}  // namespace shoal::term
