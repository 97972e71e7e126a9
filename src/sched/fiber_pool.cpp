#include "sched/fiber_pool.hpp"

namespace shoal::sched {

// Those that still have frames (only after an error that stopped the world) stay as they are.
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
  const sync::Lock lock(mutex_);
  all_.push_back(std::make_unique<SchedulingFiber>(memory_.allocate(), entry_));
  // relaxed: a statistic
  count_.store(all_.size(), std::memory_order_relaxed);
  return *all_.back();
}

void FiberPool::give(SchedulingFiber& idle) {
  const sync::Lock lock(mutex_);
  idle_.push_back(&idle);
}

}  // namespace shoal::sched
