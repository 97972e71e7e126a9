#pragma once
// Ranks whose run has not ended. Futures, locks and cells of a program may outlive the rank that
// they were made on, and refer to its scheduler.

#include <string>
#include <string_view>
#include <vector>

namespace shoal::sched {

class Scheduler;

void begin_live(const Scheduler& scheduler);
/// Called when the rank's workers have stopped, and once more when it ends.
void end_live(const Scheduler& scheduler);
/// Whether the run of the rank has not ended. `scheduler` may refer to nothing any more.
[[nodiscard]] bool is_live(const Scheduler& scheduler);
/// Refuses the use of something, named `what`, whose run has ended. **Errors**: CheckError.
void check_live(const Scheduler& scheduler, std::string_view what);

class Scheduler;

/// Texts of the errors of this rank's futures that still exist and that nobody has taken; they
/// count as taken from now on. **Caller**: when the rank's workers have stopped.
[[nodiscard]] std::vector<std::string> untaken_errors(const Scheduler& scheduler);

}  // namespace shoal::sched
