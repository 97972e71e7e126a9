#pragma once
// Schedulers: the order in which the ready tasks of a flow run, and on which workers.

#include <shoal/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace shoal {

class PerformanceModels;  // src/flow/performance_models.hpp

namespace flow {

class FlowTask;

/// Default settings of the flows of a run. A service of the rank.
struct Defaults {
  std::string scheduler = "locality";         // see make_flow_scheduler()
  std::shared_ptr<PerformanceModels> models;  // nullptr: each flow has its own
  std::string dag;                            // see --flow-dag; empty: none
  mutable int dag_count = 0;                  // flows that have written theirs
};

}  // namespace flow

/// A task of a flow whose data are ready, as schedulers see it.
struct ReadyTask {
  std::string_view name;       // of its codelet
  int priority = 0;            // larger first
  std::uint64_t number = 0;    // counts the ready tasks of the flow on this rank, from 0
  std::uint64_t ready_ns = 0;  // when it became ready
  std::size_t size_bytes = 0;  // of its data
  /// @cond internals
  flow::FlowTask* task = nullptr;  // for the flow itself
  /// @endcond

  /// Returns the bytes of its data that a worker other than `worker` has used last.
  [[nodiscard]] std::size_t bytes_elsewhere(int worker) const;
};

/// Orders the ready tasks of one flow on one rank. A program's own scheduler derives from this, and
/// FlowOptions::scheduler names it; apps/tutorial/flow_scheduler.cpp is an example.
///
/// **Caller**: workers, several at a time: an implementation needs a lock. **Blocks**: never.
/// **Source**: the push and pop of StarPU's schedulers.
class FlowScheduler {
 public:
  static constexpr int kAnyWorker = -1;  // in the place of a worker: any of the rank

  virtual ~FlowScheduler() = default;
  /// Called once, before the first push(), with the number of workers of the rank.
  virtual void begin(int /*workers*/) {}
  /// Adds a ready task; returns the worker that is to call pop() for it, or kAnyWorker.
  [[nodiscard]] virtual int push(const ReadyTask& task) = 0;
  /// Returns the task that `worker` runs next. Called once for each push(), by the worker that
  /// push() has returned: so there is a task.
  [[nodiscard]] virtual ReadyTask pop(int worker, std::uint64_t now_ns) = 0;
  /// Called when the task has run on `worker`.
  virtual void ended(const ReadyTask& /*task*/, int /*worker*/, std::uint64_t /*begin_ns*/,
                     std::uint64_t /*end_ns*/) {}
};

/// Makes a scheduler that runs tasks in the order in which they became ready.
[[nodiscard]] std::shared_ptr<FlowScheduler> fifo_scheduler();
/// Makes a scheduler that runs the task of the highest priority first; of several, the one that
/// became ready first.
[[nodiscard]] std::shared_ptr<FlowScheduler> priority_scheduler();

/// Options of completion_scheduler().
struct CompletionOptions {
  /// Time that it takes to move one byte from the caches of the worker that used it last to those
  /// of another.
  double transfer_ns_per_byte = 0.1;
  /// Performance models of the tasks; nullptr: models of its own, which last as long as the flow.
  std::shared_ptr<PerformanceModels> models = nullptr;
};
/// Makes a scheduler that gives each task to the worker that is expected to end it first, by a
/// performance model of its codelet and the bytes of data that have to be moved there; each worker
/// runs higher priorities first. Workers do not steal. **Source**: Topcuoglu et al., HEFT; "dmda"
/// of StarPU.
[[nodiscard]] std::shared_ptr<FlowScheduler> completion_scheduler(
    const CompletionOptions& options = {});

/// Makes the scheduler with the name that --flow-scheduler takes: "fifo", "priority" or
/// "completion"; for "locality" returns nullptr, and shoal's own workers steal tasks. **Errors**:
/// CheckError for another name.
[[nodiscard]] std::shared_ptr<FlowScheduler> make_flow_scheduler(
    std::string_view name, std::shared_ptr<PerformanceModels> models = nullptr);

}  // namespace shoal
