#pragma once
// The last line of programs that check their result.

#include <shoal/shoal.hpp>

#include <string>

namespace apps {

/// Prints "<line>; verified" on rank 0 if the result is good on all ranks, else "<line>; WRONG".
/// Returns the exit code. Collective.
[[nodiscard]] int conclude(shoal::World& world, bool good, const std::string& line);

}  // namespace apps
