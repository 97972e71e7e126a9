#pragma once
// Connects a FlowScheduler with the workers.

#include <shoal/detail/flow/task.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/flow_scheduler.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace shoal::flow {

/// Runs the tasks of a FlowScheduler: for each ready task a ticket enters shoal's own queues, and
/// the worker that runs the ticket takes a task from the FlowScheduler and runs it next.
class Dispatcher {
 public:
  Dispatcher(sched::Scheduler& scheduler, std::shared_ptr<FlowScheduler> order);

  /// Adds a ready task, which owns itself. **Caller**: any thread.
  void push(FlowTask& task);
  /// Notifies the FlowScheduler when the task has run on the calling worker: made before, destroyed
  /// after.
  class Running {
   public:
    Running(Dispatcher& dispatcher, FlowTask& task);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Dispatcher& dispatcher_;
    FlowTask& task_;
    const std::uint64_t begin_ns_;
  };

 private:
  class Ticket;
  [[nodiscard]] static ReadyTask describe(FlowTask& task);

  sched::Scheduler& scheduler_;
  const std::shared_ptr<FlowScheduler> order_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace shoal::flow
