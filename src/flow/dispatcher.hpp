#pragma once
// Connects a FlowScheduler with the workers.

#include <shoal/detail/flow/task.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/flow_scheduler.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace shoal::flow {

/// For each ready task a ticket goes to shoal's own queues. The worker that comes upon the ticket
/// takes a task from the FlowScheduler, and runs that one next.
class Dispatcher {
 public:
  Dispatcher(sched::Scheduler& scheduler, std::shared_ptr<FlowScheduler> order);

  /// The task owns itself. Any thread.
  void push(FlowTask& task);
  /// The function of the task is about to run on the calling worker, and has run.
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
