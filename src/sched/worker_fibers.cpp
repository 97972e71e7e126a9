#include "sched/worker_fibers.hpp"

#include "sched/worker.hpp"

#include <utility>

namespace shoal::sched {

namespace {

constexpr std::size_t kIdleFibersMax = 8;  // more go to the pool

}  // namespace

// The spare one is for the main function, which can wait even if there is no memory for stacks any
// more: whenever it goes on, a fiber of its worker becomes idle.
void WorkerFibers::begin(bool with_spare) {
  thread_ = std::make_unique<Fiber>();
  current_ = &pool_.take_first();
  if (with_spare) idle_.push_back(&pool_.take_first());
}

void WorkerFibers::end_idle() {
  const auto end = [this](SchedulingFiber& fiber) {
    current_ = &fiber;
    enter();
  };
  for (SchedulingFiber* fiber : std::exchange(idle_, {})) end(*fiber);
  while (SchedulingFiber* fiber = pool_.try_take()) end(*fiber);
  current_ = nullptr;
}

SchedulingFiber& WorkerFibers::take_idle() {
  if (idle_.empty()) return pool_.take();
  SchedulingFiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void WorkerFibers::keep_idle(SchedulingFiber& fiber) {
  idle_.push_back(&fiber);
  if (idle_.size() <= kIdleFibersMax) return;
  pool_.give(*idle_.front());  // not the one that is about to be left
  idle_.erase(idle_.begin());
}

void WorkerFibers::resume(SchedulingFiber& fiber) {
  SchedulingFiber& self = *current_;
  // No worker takes it from here before it was left: other workers do not look into idle_.
  keep_idle(self);
  switch_between(self, fiber);
}

void WorkerFibers::switch_between(SchedulingFiber& from, SchedulingFiber& to) {
  WorkerFibers& left = current_worker()->fibers;
  from.was_left = true;
  left.current_ = &to;
  left.activity_.running_task.hide(to.task);  // the parked one may end on another worker
  Fiber::switch_to(from.fiber, to.fiber);
  static_cast<void>(current_worker()->fibers.finish_switch());
}

}  // namespace shoal::sched
