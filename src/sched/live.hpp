#pragma once
// Ranks whose run has not ended. Futures, locks and cells of a program may outlive the rank that
// they were made on, and refer to its scheduler.

#include <string>
#include <string_view>
#include <vector>

namespace shoal::sched {

class Scheduler;

void begin_live(const Scheduler& scheduler);
/// Called when the rank's workers have stopped, and once more when it ends. Cancels the waits of
/// threads of the program, and returns when these have left the rank.
void end_live(const Scheduler& scheduler);
/// Whether the run of the rank has not ended. `scheduler` may refer to nothing any more.
[[nodiscard]] bool is_live(const Scheduler& scheduler);
/// Refuses the use of something, named `what`, whose run has ended. **Errors**: CheckError.
void check_live(const Scheduler& scheduler, std::string_view what);

/// Use of a rank by a thread that is none of its workers: the rank does not end meanwhile.
class ForeignUse {
 public:
  explicit ForeignUse(const Scheduler& scheduler);
  ~ForeignUse();
  ForeignUse(const ForeignUse&) = delete;
  ForeignUse& operator=(const ForeignUse&) = delete;

  /// False: the run of the rank has ended, and `scheduler` may refer to nothing any more.
  explicit operator bool() const { return scheduler_ != nullptr; }

 private:
  const Scheduler* scheduler_;
};

/// Texts of the errors of this rank's futures that still exist and that nobody has taken; they
/// count as taken from now on. **Caller**: when the rank's workers have stopped.
[[nodiscard]] std::vector<std::string> untaken_errors(const Scheduler& scheduler);

}  // namespace shoal::sched
