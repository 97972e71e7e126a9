#pragma once
// Objects that end while tasks may still use them.

#include "term/scope_core.hpp"

namespace shoal::term {

/// `source` ends: fails the scope, or the world, if tasks may still use it. See Scope::remove().
void end_use(ScopeCore& scope, const Unsatisfied& source) noexcept;

}  // namespace shoal::term
