#include "sched/worker.hpp"

#include <shoal/detail/base/held_locks.hpp>
#include <shoal/detail/trace/probes.hpp>

#include "sched/run_task.hpp"
#include "sched/traced.hpp"

namespace shoal::sched {

namespace {

/// Entry of a queue for a parked fiber.
class ResumeTask final : public Task {
 public:
  ResumeTask(SchedulingFiber& fiber, const Parked& parked) : fiber_(fiber), parked_(parked) {
    kind = TaskKind::resumed;
  }
  void run() override {
    WorkerActivity& activity = current_worker()->activity;
    WorkerActivity::count(parked_.polls ? activity.begun_uncounted : activity.begun);
    current_worker()->fibers.resume(fiber_);
  }
  [[nodiscard]] std::string name() const override { return "resume"; }

 private:
  SchedulingFiber& fiber_;
  const Parked& parked_;
};

/// A task that parked on `owner`: on the stack of the very fiber that is parked.
class ParkedTaskWaiter final : public ParkedWaiter {
 public:
  /// `queue`: of `owner`, where the task goes on. `for_what` or else `in` is what it waits in.
  ParkedTaskWaiter(Worker& owner, ReadyQueue& queue, const char* in, Waitable* for_what)
      : resume_(owner.fibers.current(), *this), owner_(owner), queue_(queue) {
    task = owner.fibers.task();
    outer = owner.fibers.current().outer;
    in_call = owner.fibers.current().in_call;
    if (for_what != nullptr) stand_in(*for_what);
    what = in;
    since_ns = owner.scheduler().env().now_ns();
    counted = for_what == nullptr || is_main() || ends_by_itself;
    if (task != nullptr) resume_.priority = task->priority;
  }

  void go_on(bool tell_scope) override {
    sync::publish(this);
    const sync::Quiet quiet;
    Scheduler& scheduler = owner_.scheduler();
    if (!counted) task->scope->counts.task_created(scheduler.count_slot());
    if (is_waiting_main() && tell_scope) scheduler.scope().main_goes_on();
    go_back();
  }
  void go_back() {
    Worker& owner = owner_;  // once pushed, this object may be gone
    const TaskQueues& queues = owner.queues;
    if (trace::on<trace::Category::task>()) [[unlikely]]
      traced::woken(task);
    const bool own = &queue_ != &queues.delivered_shared && &queue_ != &queues.ready_shared;
    queue_.push(&resume_);
    if (own) {
      owner.scheduler().idle_workers().wake(owner.id());
    } else {
      owner.scheduler().wake_one(owner.id().value());
    }
  }

 private:
  ResumeTask resume_;
  Worker& owner_;
  ReadyQueue& queue_;
};

ParkedList& list_of(Worker& worker) {
  return worker.scheduler().waiting().list(worker.id().value());
}

// For an observer, and for a recording.
[[gnu::noinline]] void note_parked(Worker& worker, const Task* task, const std::string& where,
                                   std::uint64_t join = 0) {
  if (worker.is_stepping()) worker.observe(env::Happening::parks, task, where);
  traced::parked(task, where, join);
}

[[gnu::noinline]] void note_resumed(const Task* task) {
  Worker& worker = *current_worker();
  if (worker.is_stepping()) worker.observe(env::Happening::goes_on, task, {});
  traced::resumed(task);
}

// Leaves the running task, calls then(argument) on the next fiber, and returns when the task goes
// on.
void leave(Worker& worker, SchedulingFiber& next, bool bound, void (*then)(void*), void* argument) {
  const SchedulingFiber& fiber = worker.fibers.current();
  if (bound) sync::publish(&worker);
  worker.fibers.leave_for(next, then, argument);
  if (bound) sync::observe(&worker);
  if (trace::is_watched<trace::Category::task>()) [[unlikely]]
    note_resumed(fiber.task);
}

// Scope whose failure cancels the task's wait. The main function continues only after the tasks of
// a failed scope have ended: they may use objects on its stack.
const TaskScope* cancelling_scope(const ParkedTaskWaiter& waiter, const Scheduler& scheduler) {
  if (waiter.is_waiting_main()) return nullptr;
  return waiter.is_main() ? &scheduler.scope() : waiter.task->scope;
}

// On the next fiber. Once it is enlisted, the task may be running elsewhere: nothing of its stack
// is touched.
void enlist(void* parked) {
  ParkedTaskWaiter& waiter = *static_cast<ParkedTaskWaiter*>(parked);
  Worker& self = *current_worker();
  TaskScope* const scope = waiter.counted ? nullptr : waiter.task->scope;
  const bool is_main = waiter.is_waiting_main();
  if (!list_of(self).enlist(waiter, cancelling_scope(waiter, self.scheduler()))) {
    waiter.go_back();
  } else if (is_main) {
    self.scheduler().scope().main_parks();
  } else if (scope != nullptr) {
    scope->counts.task_finished(self.id());
  }
}

/// A waiter that is to be published on the next fiber.
struct Parking {
  ParkedTaskWaiter& waiter;
  const Publish& publish;
  sync::StrandHere strand;
};

void publish_waiter(void* argument) {
  const Parking& parking = *static_cast<const Parking*>(argument);
  sync::StrandHere strand = parking.strand;  // this frame may be gone before run() returns
  strand.run([parked = &parking.waiter, tell = &parking.publish] {
    if (!(*tell)(*parked)) parked->wake();
  });
}

}  // namespace

void suspend(Worker& worker, const char* what, const Publish& publish, Turn turn) {
  if constexpr (shoal::detail::kCountsLocks)
    shoal::detail::check_no_lock_held("a task is parked", what);
  const sync::Quiet quiet;
  const Task* const task = worker.fibers.task();
  const bool bound = task != nullptr && task->bound;
  SchedulingFiber& next = worker.fibers.take_idle();  // may throw: the waiter is not known yet
  TaskQueues& queues = worker.queues;
  ReadyQueue& queue = turn == Turn::next ? queues.resumed_own
                      : bound            ? queues.bound_own
                                         : queues.ready_shared;
  ParkedTaskWaiter waiter(worker, queue, what, nullptr);
  waiter.polls = turn == Turn::poll;
  ParkedList& list = list_of(worker);
  list.add(waiter);
  Parking parking{waiter, publish, {}};
  if (trace::is_watched<trace::Category::task>()) [[unlikely]]
    note_parked(worker, task, what);
  leave(worker, next, bound, &publish_waiter, &parking);
  sync::observe(&waiter);
  list.remove(waiter);
}

WaitEnd park(Worker& worker, Waitable& what) {
  if constexpr (shoal::detail::kCountsLocks)
    shoal::detail::check_no_lock_held("a task is parked", what.describe());
  const sync::Quiet quiet;
  Task* const task = worker.fibers.task();
  if (!task->is_main()) task->before_parking();       // else see wait_for()
  SchedulingFiber& next = worker.fibers.take_idle();  // may throw: the waiter is not known yet
  TaskQueues& queues = worker.queues;
  ParkedTaskWaiter waiter(worker, task->bound ? queues.resumed_own : queues.delivered_shared, "",
                          &what);
  ParkedList& list = list_of(worker);
  if (trace::is_watched<trace::Category::task>()) [[unlikely]]
    note_parked(worker, task, what.trace_text(), what.join());
  leave(worker, next, task->bound, &enlist, &waiter);
  sync::observe(&waiter);
  list.remove(waiter);
  if (!waiter.cancelled) return WaitEnd::over;
  return waiter.ended ? WaitEnd::ended : WaitEnd::cancelled;
}

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
  // A task of no group, which a cancellation leaves alone, would keep one that it ends.
  const bool would_stay = fiber.task->group != nullptr && task->group == nullptr;
  if (would_stay || !what.needs(*task)) {
    worker.queues.deque.push(task);
    worker.scheduler().wake_one();  // one that fell asleep meanwhile has not seen it
    return false;
  }
  Task& outer = *fiber.task;
  const bool outer_was_left = fiber.was_left;
  outer.before_parking();
  const Nesting nesting{outer, what, fiber.outer, fiber.in_call};
  fiber.outer = &nesting;
  fiber.in_call = nullptr;
  outer.scope->counts.task_finished(worker.id());
  if (worker.is_stepping()) worker.leave_step(env::StepResult::worked);
  WorkerActivity::count(worker.activity.begun);
  if (trace::on<trace::Category::task>()) traced::parked(&outer, what.trace_text(), what.join());
  const FloatControl of_outer = FloatControl::here();
  Worker& now_on = run_to_end(worker, task, &outer);
  of_outer.apply();
  traced::resumed(&outer);
  fiber.was_left = fiber.was_left || outer_was_left;
  fiber.outer = nesting.outer;
  fiber.in_call = nesting.in_call;
  fiber.task = &outer;
  now_on.activity.running_task.show(&outer);
  now_on.after_work();
  return true;
}

}  // namespace shoal::sched
