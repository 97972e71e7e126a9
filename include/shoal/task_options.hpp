#pragma once
// Options of submitted tasks.

#include <shoal/rank.hpp>

#include <optional>
#include <source_location>
#include <string>

namespace shoal {

/// Options of a submitted task.
struct TaskOptions {
  int priority = 0;                  // larger first
  std::optional<WorkerId> worker{};  // where it is queued at first; default: the caller's worker
  bool bound = false;                // only `worker` runs it
  std::string name = "task";         // for error reports
  bool memory_bound = false;         // --memory-bound-max limits how many run beside transfers
  std::source_location place = std::source_location::current();  // of the call, for traces
  /// Number of further attempts of a task that throws, before its error counts. The effects of an
  /// attempt that fails are dropped, but cancel() takes effect at once: see docs/errors.md, "Tasks
  /// that are tried again". Other tasks have a turn between two attempts.
  int retries = 0;
};

}  // namespace shoal
