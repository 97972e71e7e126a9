#include "sched/memory_bound.hpp"

#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <iterator>
#include <memory>
#include <utility>

namespace shoal::sched {

// No wake-up is lost. Invariant, whenever the lock is free: if a task is held back, then a transfer
// is under way, and
//
//   running_ + (tasks queued again that have not been tried yet) >= most_.
//
// - try_begin() holds a task back only if running_ >= most_.
// - leave() lowers running_ by one, and queues one task again if running_ falls below most_.
// - A task that is queued again is tried: it raises running_, or is held back because of the
//   first rule.
// - end_transfer() of the last transfer queues all of them again.
// - A task that is dropped because its scope has failed takes a place and gives it up, as others
//   do.
//
// As most_ >= 1 and each running task gives its place up when it ends or waits, each task that is
// held back is tried again. Scheduler::queue_again() wakes a worker for
// it.

/// Place of a running task; gives it up while the task waits, and with the task.
class MemoryBoundLimit::Place final : public TaskLocal {
 public:
  explicit Place(MemoryBoundLimit& limit) : limit_(limit) {}
  ~Place() override {
    if (!std::exchange(waits_, true)) limit_.leave();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  void parks() override {
    if (!std::exchange(waits_, true)) limit_.leave();
  }
  void goes_on() override {
    if (std::exchange(waits_, false)) limit_.enter();
  }

 private:
  MemoryBoundLimit& limit_;
  bool waits_ = false;
};

MemoryBoundLimit::~MemoryBoundLimit() = default;

bool MemoryBoundLimit::try_begin(Scheduler& scheduler, Task& task) {
  const sync::Quiet quiet;
  {
    const sync::Lock lock(mutex_);
    if (transfers_ > 0 && running_ >= most_) {
      held_.emplace(Order(-std::int64_t{task.priority}, next_number_++), Held{&scheduler, &task});
      return false;
    }
    ++running_;
  }
  task.kind = TaskKind::local;
  task.add_local(std::make_unique<Place>(*this));
  return true;
}

void MemoryBoundLimit::enter() {
  const sync::Quiet quiet;
  const sync::Lock lock(mutex_);
  ++running_;
}

void MemoryBoundLimit::leave() {
  const sync::Quiet quiet;
  Held next{};
  QueueAgain queue_again = nullptr;
  {
    const sync::Lock lock(mutex_);
    --running_;
    if (running_ >= most_ || held_.empty()) return;
    next = held_.begin()->second;
    held_.erase(held_.begin());
    queue_again = queue_again_;
  }
  queue_again(*next.scheduler, next.task);
}

void MemoryBoundLimit::begin_transfer() {
  const sync::Quiet quiet;
  const sync::Lock lock(mutex_);
  ++transfers_;
}

void MemoryBoundLimit::end_transfer() {
  const sync::Quiet quiet;
  HeldTasks all;
  QueueAgain queue_again = nullptr;
  {
    const sync::Lock lock(mutex_);
    if (--transfers_ > 0) return;
    all.swap(held_);
    queue_again = queue_again_;
  }
  for (const auto& [order, held] : all) queue_again(*held.scheduler, held.task);
}

void MemoryBoundLimit::discard(const Scheduler& scheduler) {
  HeldTasks dropped;
  {
    const sync::Lock lock(mutex_);
    for (auto one = held_.begin(); one != held_.end();) {
      const auto next = std::next(one);
      if (one->second.scheduler == &scheduler) dropped.insert(held_.extract(one));
      one = next;
    }
  }
  for (const auto& [order, held] : dropped) delete held.task;
}

MemoryBoundLimit::State MemoryBoundLimit::state(const Scheduler& scheduler) const {
  const sync::Lock lock(mutex_);
  State state{most_, running_, transfers_, 0};
  for (const auto& [order, held] : held_) {
    if (held.scheduler == &scheduler) ++state.held;
  }
  return state;
}

}  // namespace shoal::sched
