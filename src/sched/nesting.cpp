// Tasks that run on the stack of one that waits for them.

#include "sched/run_task.hpp"
#include "sched/suspend.hpp"

namespace shoal::sched {

namespace {

// Tasks that share a fiber park together. So none of them may be bound to a worker, and each must
// find most of a stack below it.
bool may_nest(const SchedulingFiber& fiber) {
  const Task& task = *fiber.task;
  if (task.is_main() || task.bound || &task == &fiber.ending) return false;
  return static_cast<const std::byte*>(__builtin_frame_address(0)) > fiber.nests_above;
}

}  // namespace

// For detection the outer task has finished meanwhile, like one that is parked. end_task() creates
// it again when nothing is left of the nested one that might wait, and before that one has
// finished: there is no moment at which nothing runs.
bool run_nested(Worker& worker, Waitable& what) {
  if (sync::watches_strands()) return false;  // each has a stack of its own
  SchedulingFiber& fiber = worker.fibers.current();
  if (!may_nest(fiber)) return false;
  if (worker.is_called() && !worker.poll_in_task()) return false;
  Task* const task = worker.queues.has_only_deque() ? worker.queues.deque.try_pop() : nullptr;
  if (task == nullptr) return false;
  if (!what.needs(*task)) {
    worker.queues.deque.push(task);
    worker.scheduler().wake_one();  // one that fell asleep meanwhile has not seen it
    return false;
  }
  Task& outer = *fiber.task;
  const bool outer_was_left = fiber.was_left;
  outer.before_parking();
  const Nesting nesting{outer, what, fiber.outer};
  fiber.outer = &nesting;
  outer.scope->counts.task_finished(worker.id());
  if (worker.is_stepping()) worker.leave_step(env::StepResult::worked);
  WorkerActivity::count(worker.activity.begun);
  if (trace::on<trace::Category::task>()) traced::parked(&outer, what.describe(), what.join());
  const FloatControl of_outer = FloatControl::here();
  Worker& now_on = run_to_end(worker, task, &outer);
  of_outer.apply();
  traced::resumed(&outer);
  fiber.was_left = fiber.was_left || outer_was_left;
  fiber.outer = nesting.outer;
  fiber.task = &outer;
  now_on.activity.running_task.show(&outer);
  now_on.after_work();
  return true;
}

}  // namespace shoal::sched
