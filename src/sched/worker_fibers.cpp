#include "sched/worker_fibers.hpp"

#include "sched/worker.hpp"

#include <utility>

namespace shoal::sched {

FiberPool::FiberPool(const SchedulerOptions& options, Fiber::Entry entry)
    : memory_(options.stack_bytes, options.guards, options.mapped_guards_max,
              options.mapped_guards),
      entry_(entry) {
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    for (int i = 0; i <= options.worker_count; ++i) first_.push_back(memory_.allocate());
  });
}

// Fibers that still have frames (only after an error that stopped the world) stay as they are.
FiberPool::~FiberPool() {
  const sync::Lock lock(mutex_);
  for (const auto& one : all_) {
    if (!one->fiber.has_ended()) memory_.keep(one->fiber.stack());
  }
  all_.clear();
}

SchedulingFiber* FiberPool::try_take() {
  const sync::Lock lock(mutex_);
  if (idle_.empty()) return nullptr;
  SchedulingFiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

SchedulingFiber& FiberPool::take() {
  if (SchedulingFiber* const idle = try_take(); idle != nullptr) return *idle;
  SchedulingFiber* made = nullptr;
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) { made = &make(memory_.allocate()); });
  return *made;
}

SchedulingFiber& FiberPool::take_first() {
  const sync::Lock lock(mutex_);
  const env::Stack stack = first_.back();
  first_.pop_back();
  return make(stack);
}

SchedulingFiber& FiberPool::make(const env::Stack& stack) {
  all_.push_back(std::make_unique<SchedulingFiber>(stack, entry_));
  // relaxed: a statistic
  count_.store(all_.size(), std::memory_order_relaxed);
  return *all_.back();
}

void FiberPool::give(SchedulingFiber& idle) {
  const sync::Lock lock(mutex_);
  idle_.push_back(&idle);
}

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
