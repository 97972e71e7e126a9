#pragma once
// Looks at a rank's workers from outside, for reports.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sched/worker_state.hpp"

namespace shoal::sched {

class FiberPool;
class LockHolders;
class Scheduler;
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
  [[nodiscard]] WorkerState state_of(Worker& worker, const LockHolders& holders) const;

  const Scheduler& scheduler_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  const FiberPool& fibers_;
  std::uint64_t asked_ = 0;  // how often ask() was called
};

}  // namespace shoal::sched
