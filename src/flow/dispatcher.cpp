#include "flow/dispatcher.hpp"

#include "flow/handle.hpp"
#include "sched/traced.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/env/env.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace shoal {

std::size_t ReadyTask::bytes_elsewhere(int worker) const {
  std::size_t bytes = 0;
  for (const flow::Access& access : task->accesses()) {
    if (!flow::reads(access.mode)) continue;
    const int last = access.instance->last_worker();
    if (last >= 0 && last != worker) bytes += access.instance->handle().size_bytes();
  }
  return bytes;
}

namespace flow {

/// Runs nothing itself: it makes its worker take the next task.
class Dispatcher::Ticket final : public sched::Task {
 public:
  Ticket(sched::Scheduler& scheduler, std::shared_ptr<FlowScheduler> order)
      : scheduler_(scheduler), order_(std::move(order)) {
    trace_id = trace::kHiddenTask;
  }
  // Not run: the scope has failed, or push() has named a wrong worker.
  ~Ticket() override {
    if (!used_) delete order_->pop(bound ? worker : 0, 0).task;
  }

  void run() override {
    used_ = true;
    const int here = scheduler_.count_slot();
    const ReadyTask next = order_->pop(here, scheduler_.env().now_ns());
    SHOAL_CHECK(next.task != nullptr,
                "pop() of a flow's scheduler has returned no task: it is called once for each "
                "push(), by the worker that push() has returned");
    next.task->worker = static_cast<std::int16_t>(here);
    next.task->bound = true;
    next.task->priority = std::numeric_limits<int>::max();
    const bool is_traced = trace::on<trace::Category::task>();
    const std::uint64_t trace_id = next.task->trace_id;
    if (is_traced) [[unlikely]]
      next.task->trace_id = trace::kHiddenTask;  // it has been ready since push()
    scheduler_.submit(std::unique_ptr<sched::Task>(next.task));
    next.task->priority = next.priority;  // this worker will run it, and not before this returns
    if (is_traced) [[unlikely]]
      next.task->trace_id = trace_id;
    sync::publish(next.task);  // what was written behind submit()
  }
  [[nodiscard]] std::string name() const override { return "choice of the next task"; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "next"; }

 private:
  sched::Scheduler& scheduler_;
  const std::shared_ptr<FlowScheduler> order_;
  bool used_ = false;
};

Dispatcher::Dispatcher(sched::Scheduler& scheduler, std::shared_ptr<FlowScheduler> order)
    : scheduler_(scheduler), order_(std::move(order)) {
  order_->begin(scheduler_.worker_count());
}

ReadyTask Dispatcher::describe(FlowTask& task) {
  ReadyTask ready;
  ready.name = task.plain_name();
  ready.priority = task.priority;
  ready.task = &task;
  for (const Access& access : task.accesses()) {
    ready.size_bytes += access.instance->handle().size_bytes();
  }
  return ready;
}

void Dispatcher::push(FlowTask& task) {
  ReadyTask ready = describe(task);
  ready.number = count_.fetch_add(1, std::memory_order_relaxed);
  ready.ready_ns = scheduler_.env().now_ns();
  if (trace::on<trace::Category::task>()) [[unlikely]]
    sched::traced::submitted(task);  // by the ticket that takes it, it may have waited for long
  sched::TaskScope* const scope = task.scope;
  const int worker = order_->push(ready);  // another ticket may run the task from here on
  auto ticket = std::make_unique<Ticket>(scheduler_, order_);
  SHOAL_CHECK(worker >= FlowScheduler::kAnyWorker && worker < scheduler_.worker_count(),
              "push() of a flow's scheduler has returned worker {}: there are 0 to {}", worker,
              scheduler_.worker_count() - 1);
  ticket->scope = scope;
  ticket->worker = static_cast<std::int16_t>(worker);
  ticket->bound = worker != FlowScheduler::kAnyWorker;
  scheduler_.submit(std::move(ticket));
}

Dispatcher::Running::Running(Dispatcher& dispatcher, FlowTask& task)
    : dispatcher_(dispatcher), task_(task), begin_ns_(dispatcher.scheduler_.env().now_ns()) {}

Dispatcher::Running::~Running() {
  const int worker = dispatcher_.scheduler_.count_slot();
  for (const Access& access : task_.accesses()) access.instance->set_last_worker(worker);
  dispatcher_.order_->ended(describe(task_), worker, begin_ns_,
                            dispatcher_.scheduler_.env().now_ns());
}

}  // namespace flow
}  // namespace shoal
