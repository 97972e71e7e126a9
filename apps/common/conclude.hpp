#pragma once
// The last line of programs that check their result.

#include <shoal/shoal.hpp>

#include <string>

namespace apps {

/// Prints "<line>; verified" on rank 0 if the result is good on all ranks, else "<line>; WRONG".
/// Returns the exit code. Collective.
[[nodiscard]] int conclude(shoal::World& world, bool good, const std::string& line);
/// The same for a run that took so long; a good one's time goes to the file that --json gave. If
/// that is standard output, the line goes to standard error.
[[nodiscard]] int conclude(shoal::World& world, bool good, const std::string& line, double seconds,
                           const std::string& json_path);

}  // namespace apps
