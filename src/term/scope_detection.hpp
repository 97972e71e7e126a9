#pragma once
// Completion of a scope, as its detector asks and tells.

#include "term/scope_core.hpp"

#include <cstdint>
#include <memory>

namespace shoal::term {

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
