#include <shoal/detail/sched/scheduler.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/trace/probes.hpp>

#include "sched/inspector.hpp"
#include "sched/live.hpp"
#include "sched/memory_bound.hpp"
#include "sched/traced.hpp"
#include "sched/worker.hpp"

namespace shoal::sched {

Scheduler::Scheduler(env::Env& env, const SchedulerOptions& options)
    : env_(env),
      options_(options),
      memory_bound_(options.memory_bound.get()),
      idle_workers_(env, options.oversubscribed),
      fibers_(std::make_unique<FiberPool>(options, &Worker::enter_loop)),
      waiting_(options.worker_count),
      inspector_(std::make_unique<Inspector>(*this, workers_, *fibers_)) {
  SHOAL_CHECK(options.worker_count >= 1, "a rank needs at least one worker, not {}",
              options.worker_count);
  begin_live(*this);
  if (memory_bound_ != nullptr) {
    memory_bound_->set_queue_again(
        [](Scheduler& scheduler, Task* task) { scheduler.queue_again(task); });
  }
  for (int i = 0; i < options.worker_count; ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, WorkerId(i), *fibers_, queues_));
  }
}

Scheduler::~Scheduler() {
  end_live(*this);
  if (memory_bound_ != nullptr) memory_bound_->discard(*this);
}

void Scheduler::drop_queued() {
  for (const auto& worker : workers_) worker->queues.drop_all();
}

std::vector<env::Steppable*> Scheduler::steppables() {
  std::vector<env::Steppable*> all;
  all.reserve(workers_.size());
  for (const auto& worker : workers_) all.push_back(worker.get());
  return all;
}

void Scheduler::submit_owned(Task* task) {
  sync::publish(task);
  const sync::Quiet quiet;
  if (trace::on<trace::Category::task>()) [[unlikely]] {
    if (current_attempt() == nullptr) traced::submitted(*task);
  }
  Worker* const me = current_worker();
  if (me != nullptr) {
    if (me->activity.handler_depth == 0) {
      if (const Task* const submitter = me->fibers.task(); submitter != nullptr)
        submitter->tell_submits(*task);
    } else if (me->activity.attempt != nullptr) {
      return me->activity.attempt->withhold(
          [this, owned = std::unique_ptr<Task>(task)]() mutable { submit(std::move(owned)); });
    }
  }
  if (me == nullptr || &me->scheduler() != this || !me->queues.would_keep(*task)) {
    if (!task->is_main()) task->scope->counts.task_created(count_slot());
    enqueue(task);
    return;
  }
  me->queues.keep(task);
  wake_one();
}

void Scheduler::leave_error(TaskScope& scope, std::string task_name, std::exception_ptr error) {
  scope.leave_error(std::move(task_name), std::move(error));
  progress_->ask_teams();
  wake_one();  // the caller's task may go on for long
  if (Worker* const worker = current_worker(); worker != nullptr) worker->poll_next();
}

void submit(Scheduler& scheduler, std::unique_ptr<Task> task, const TaskOptions& options) {
  task->priority = options.priority;
  if (options.worker.has_value()) {
    const int worker = *options.worker;
    SHOAL_CHECK(worker >= 0 && worker < scheduler.worker_count(),
                "task '{}' is for worker {}: this rank has workers 0 to {}", options.name, worker,
                scheduler.worker_count() - 1);
    task->worker = static_cast<std::int16_t>(worker);
  }
  SHOAL_CHECK(!options.bound || options.worker.has_value(),
              "task '{}' is bound to no worker: set `worker` as well", options.name);
  task->bound = options.bound;
  if (options.memory_bound) scheduler.mark_memory_bound(*task);
  if (trace::on<trace::Category::task>()) [[unlikely]]
    trace::describe_place(options.name, options.place);
  scheduler.submit(std::move(task));
}

void Scheduler::submit_counted(std::unique_ptr<Task> task) {
  sync::publish(task.get());
  const sync::Quiet quiet;
  if (trace::on<trace::Category::task>()) traced::submitted(*task);
  enqueue(task.release());
}

void Scheduler::enqueue(Task* task) {
  int home = task->worker;
  SHOAL_DCHECK(home < worker_count(), "worker {} of {}", home, worker_count());
  const bool bound = task->bound;
  if (home == Task::kAnyWorker) {
    // relaxed: any spread will do
    const int slot = count_slot();
    home = slot < worker_count()
               ? slot
               : static_cast<int>(next_worker_.fetch_add(1, std::memory_order_relaxed) %
                                  static_cast<unsigned>(worker_count()));
  }
  queues_[static_cast<std::size_t>(home)]->push(task);  // it may be gone from here on
  if (bound) {
    idle_workers_.wake(WorkerId(home));
  } else {
    wake_one(home);
  }
}

}  // namespace shoal::sched
