#pragma once
// Limits and choices of a Flow, and counts of what it has sent.

#include <shoal/flow_scheduler.hpp>
#include <shoal/recipients.hpp>

#include <cstddef>
#include <cstdint>
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

/// Transfers of one rank since its flow was made. Sends of one version to several ranks are merged
/// until the value leaves. **Source**: runtime-communication-interactions thesis, section 4.3.1.
struct FlowStatistics {
  std::uint64_t broadcasts = 0;            // values that left for several ranks at once
  std::uint64_t recipients = 0;            // ranks that they went to, together
  std::uint64_t missed = 0;                // sends of values that had left for another rank before
  std::uint64_t announced = 0;             // values that waited until the receiver asked for them
  std::uint64_t early_bytes_most = 0;      // received before they were expected, at one time
  std::uint64_t broadcast_bytes = 0;       // sizes of the values that were broadcast, each once
  std::uint64_t broadcast_bytes_most = 0;  // size of the largest of them
  std::uint64_t missed_bytes = 0;          // sizes of the values of missed sends
  std::uint64_t missed_bytes_most = 0;     // size of the largest of them
};

}  // namespace shoal
