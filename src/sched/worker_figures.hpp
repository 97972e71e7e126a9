#pragma once
// Cheap figures of a rank's workers, read from outside while they run.

#include <shoal/detail/sched/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::sched {

struct WorkerGlance {
  bool asleep = false;
  bool in_task = false;
  bool in_handler = false;
  std::string task;             // name of the task that runs, if asked for
  std::uint64_t tasks_run = 0;  // so far
  std::uint64_t slept_ns = 0;   // so far, by the environment's clock
  std::uint64_t asleep_since_ns = 0;
  std::size_t ready = 0;   // tasks in its queues
  std::size_t parked = 0;  // tasks
};

/// Hints, by worker. Calls no code of the program. `with_names`: holds up a worker that ends its
/// task at this moment, for the time it takes to copy the name.
/// **Caller**: one thread at a time, no worker.
std::vector<WorkerGlance> glance_at(Scheduler& scheduler, bool with_names);

}  // namespace shoal::sched
