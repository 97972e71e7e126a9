#pragma once
// Scopes of the teams of one rank.

#include <shoal/term/scope.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace shoal::term {

/// By id. Guarded by the nesting_mutex_ of the world's scope.
struct Scope::Teams {
  std::map<std::uint64_t, std::shared_ptr<Scope>> scopes;
  /// For teams that do not exist here yet.
  std::map<std::uint64_t, std::vector<EarlyControl>> early;
};

}  // namespace shoal::term
