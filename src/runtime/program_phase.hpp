#pragma once
// Phases of a process: before main(), main() and after it, where nothing can be run any more.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/list.hpp>

#include <string_view>

namespace shoal::runtime {

/// Refuses what needs a process that is in main(). `what`: "shoal::run() was called". **Errors**:
/// ConfigError before main(), and after its end.
void check_in_main(std::string_view what);

/// While it exists, a process that exits writes an error and ends with 1 if work is lost by that.
/// For worlds without a launcher, which would notice the exit.
class LossAtExit {
 public:
  /// `text` is the error, with {} for the rank of the caller of exit(). `has_work` is called at the
  /// exit, on its thread.
  LossAtExit(const char* text, Function<bool()> has_work);
  ~LossAtExit();
  LossAtExit(const LossAtExit&) = delete;
  LossAtExit& operator=(const LossAtExit&) = delete;

  /// Called at the exit: writes the error and returns true if work is lost.
  [[nodiscard]] bool report() const noexcept;

  sync::ListLink<LossAtExit> link;  // guarded by the lock of the process's list

 private:
  const char* const text_;
  const Function<bool()> has_work_;
};

}  // namespace shoal::runtime
