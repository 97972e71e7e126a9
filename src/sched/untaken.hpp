#pragma once
// Errors of futures that outlive a run.

#include <string>
#include <vector>

namespace shoal::sched {

class Scheduler;

/// Texts of the errors of this rank's futures that still exist and that nobody has taken; they
/// count as taken from now on. **Caller**: when the rank's workers have stopped.
[[nodiscard]] std::vector<std::string> untaken_errors(const Scheduler& scheduler);

}  // namespace shoal::sched
