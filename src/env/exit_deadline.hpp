#pragma once
// Ends the process when something takes too long.

#include <atomic>
#include <cstdint>
#include <string>

#include "env/alarm.hpp"

namespace shoal::env {

/// Unless it is destroyed within `timeout_ns`, writes `text` to standard error and ends the process
/// with `exit_code`, at once: no destructor and no exit handler runs, and what the process is
/// blocked in does not matter.
class ExitDeadline {
 public:
  /// Starts the deadline. **Errors**: Error when the system has no thread or no descriptor left.
  ExitDeadline(std::uint64_t timeout_ns, std::string text, int exit_code);
  ~ExitDeadline();
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;

 private:
  void run();

  const std::uint64_t timeout_ns_;
  const std::string text_;
  const int exit_code_;
  std::atomic<bool> met_{false};
  Alarm alarm_;
  Thread thread_;
};

}  // namespace shoal::env
