#pragma once
// Limits and choices of a Flow.

#include <shoal/flow_scheduler.hpp>
#include <shoal/recipients.hpp>

#include <cstddef>
#include <memory>

namespace shoal {

/// Options of a flow.
struct FlowOptions {
  /// Maximum number of inserted tasks on one rank that have not ended; the inserter waits beyond.
  std::size_t tasks_max = 4096;
  /// Maximum bytes of received copies on one rank; the inserter waits beyond.
  std::size_t copy_bytes_max = 1UL << 30U;
  /// Maximum bytes of values that arrive at one rank before it has inserted a task that reads them.
  /// Each of the other ranks has an equal share, but may always send one value; it keeps further
  /// values until the rank asks for them.
  std::size_t early_bytes_max = 256UL << 20U;
  /// Tree along which a value is sent to several ranks.
  MulticastTree broadcast_tree = {};
  /// Each rank inserts only the tasks that concern it: see docs/flow.md. The ranks' sequences are
  /// not compared.
  bool pruned = false;
  /// Checks, by hashes before and after each task, that tasks do not change data which they only
  /// read. On in debug builds.
#ifdef NDEBUG
  bool check_reads = false;
#else
  bool check_reads = true;
#endif
  /// Scheduler of the ready tasks on this rank; each rank has an object of its own. nullptr: the
  /// scheduler of --flow-scheduler.
  std::shared_ptr<FlowScheduler> scheduler = nullptr;
};

}  // namespace shoal
