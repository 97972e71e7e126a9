#include "sched/fiber_pool.hpp"

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

}  // namespace shoal::sched
