#pragma once
// Looks at a rank's workers from outside, for reports.

#include <shoal/detail/sched/scheduler.hpp>

#include "sched/worker_state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shoal::sched {

class FiberPool;
class Scheduler;
class WaitTexts;
class Worker;

class Inspector {
 public:
  /// Makes an inspector of these objects, which outlive it.
  Inspector(const Scheduler& scheduler, const std::vector<std::unique_ptr<Worker>>& workers,
            const FiberPool& fibers)
      : scheduler_(scheduler), workers_(workers), fibers_(fibers) {}

  // --- Any thread; hints.

  /// Returns the number of workers that run a task now.
  [[nodiscard]] int active_worker_count() const;
  /// Returns the number of tasks that have run.
  [[nodiscard]] std::uint64_t tasks_run() const;
  /// Returns the number of tasks, parts of tasks and handlers that each worker has begun.
  [[nodiscard]] std::vector<std::uint64_t> begun() const;
  /// Returns the maximum number of stacks in use at one time, including those of the workers.
  [[nodiscard]] std::size_t stack_count() const;

  // --- Reports. **Caller**: one thread at a time, no worker.

  /// Asks every worker to describe itself between two tasks, and wakes those that sleep.
  void ask();
  /// Returns whether all workers have done so since the last ask().
  [[nodiscard]] bool all_answered() const;
  /// Returns the workers' answers to the last ask(); for a worker without an answer, its visible
  /// state.
  [[nodiscard]] std::vector<WorkerState> states() const;

  // --- **Caller**: the only thread there is, between two steps.

  /// Returns the states of the workers without asking them.
  [[nodiscard]] std::vector<WorkerState> states_here();
  /// Returns whether a counted task is queued, runs or is parked.
  [[nodiscard]] bool holds_work() const;

 private:
  [[nodiscard]] WorkerState state_of(Worker& worker, const WaitTexts& texts) const;

  const Scheduler& scheduler_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  const FiberPool& fibers_;
  std::uint64_t asked_ = 0;  // how often ask() was called
};

/// Figures of a worker, read from outside while it runs.
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
