#pragma once
// Runs a task on the current fiber. In a header, since the loop's cost per task is this code.

#include <shoal/detail/trace/probes.hpp>

#include <fmt/format.h>
#include <utility>

#include "sched/traced.hpp"
#include "sched/worker.hpp"

namespace shoal::sched {

/// Returns the worker that continues `fiber`, on which the caller runs.
inline Worker& worker_of(const SchedulingFiber& fiber, Worker& begun_on) {
  return fiber.was_left ? *current_worker() : begun_on;
}

// Tasks bound to one worker run one after the other.
[[gnu::noinline]] inline void begin_strand(Worker& worker, const Task& task, sync::Strand& strand) {
  strand.run([at = &worker, begun = &task] {
    sync::observe(begun);
    if (begun->bound) sync::observe(at);
  });
  strand.set_name(fmt::format("{}, rank {}", name_of(task), worker.scheduler().rank().value()));
}

/// Called in a catch clause.
[[gnu::noinline]] inline void keep_thrown(const Task& task, SchedulingFiber& fiber) {
  if (task.is_main()) throw;  // its wrapper lets nothing through
  fiber.thrown = caught_exception();
}

/// Called behind the catch clause, which owns the exception as well: others may read and drop it.
[[gnu::noinline]] inline void fail_task(const Task& task, SchedulingFiber& fiber) {
  Scheduler& scheduler = current_worker()->scheduler();
  scheduler.leave_error(*task.scope, name_of(task), std::move(fiber.thrown));
}

[[gnu::always_inline]] inline void run_function(Task& task, SchedulingFiber& fiber) {
  try {
    fiber.strand.run([begun = &task] { begun->run(); });
    return;
  } catch (...) {
    keep_thrown(task, fiber);
  }
  fail_task(task, fiber);
}

/// Runs the task for an observer or a recording.
[[gnu::noinline]] inline void run_watched(Worker& worker, Task& task, SchedulingFiber& fiber) {
  const bool observes = worker.is_stepping();
  if (observes) worker.observe(env::Happening::begins, &task, {});
  traced::started(task);
  run_function(task, fiber);
  traced::ended(task.trace_id);
  if (observes) current_worker()->observe(env::Happening::ends, &task, {});
}

inline Worker& run_task(Worker& begun_on, Task& task, SchedulingFiber& fiber) {
  fiber.task = &task;
  begun_on.activity.running_task.show(&task);
  if (trace::is_watched<trace::Category::task>()) [[unlikely]] {
    run_watched(begun_on, task, fiber);
  } else {
    run_function(task, fiber);
  }
  Worker& worker = worker_of(fiber, begun_on);
  worker.activity.running_task.hide();
  WorkerActivity::count(worker.activity.tasks_run);
  return worker;
}

// Destroys the task before it counts as finished, so that its captures are gone before wait() can
// return. Their destructors may wait; the fiber then shows `ending`, not the dead task.
inline Worker& end_task(Worker& ran_on, Task* task, TaskScope* scope, SchedulingFiber& fiber,
                        const Task* outer) {
  fiber.ending.scope = scope;
  fiber.ending.placement() = task->placement();
  fiber.task = &fiber.ending;
  fiber.strand.run([at = &ran_on, task, scope] {
    const bool bound = task->bound;
    delete task;
    if (bound) sync::publish(at);
    if (scope != nullptr) scope->publish_end();
  });
  fiber.strand.end();
  Worker& worker = worker_of(fiber, ran_on);
  fiber.task = nullptr;
  if (fiber.was_left) worker.activity.running_task.hide();
  if (outer != nullptr) outer->scope->counts.task_created(worker.id());
  if (scope != nullptr) scope->counts.task_finished(worker.id());
  return worker;
}

/// Runs and destroys `task`; drops it if its scope has failed. `outer`: waits for it on the same
/// stack, if any. Returns the worker that goes on with the caller's fiber: the task may end on
/// another one than it began on.
inline Worker& run_to_end(Worker& begun_on, Task* task, const Task* outer) {
  TaskScope* const scope = task->scope;
  SchedulingFiber& fiber = begun_on.fibers.current();
  fiber.was_left = false;
  begun_on.float_control().apply();  // an earlier task on this fiber may have changed it
  Worker* worker = &begun_on;
  if (sync::watches_strands()) begin_strand(begun_on, *task, fiber.strand);
  if (scope == nullptr || !scope->failed()) worker = &run_task(begun_on, *task, fiber);
  return end_task(*worker, task, scope, fiber, outer);
}

}  // namespace shoal::sched
