#include "sched/task_queues.hpp"

#include <shoal/detail/trace/probes.hpp>

#include <algorithm>

namespace shoal::sched {

namespace {

constexpr unsigned kFairEvery = 32;  // picks between two that prefer what others pushed

}  // namespace

TaskQueues::TaskQueues(All& all, WorkerId owner, unsigned seed)
    : all_(all),
      owner_(owner),
      here_{.worker = static_cast<std::int16_t>(owner.value())},
      random_(seed) {
  all.push_back(this);
}

void TaskQueues::drop_all() {
  const auto drop = [](Task* task) {
    if (task->kind != TaskKind::resumed) delete task;
  };
  for (ReadyQueue* queue : {&resumed_own, &bound_own, &delivered_shared, &ready_shared}) {
    while (Task* task = queue->try_pop()) drop(task);
  }
  while (Task* task = deque.try_pop()) drop(task);
}

void TaskQueues::push(Task* task) {
  if (task->bound) {
    bound_own.push(task);
  } else if (task->kind == TaskKind::delivered) {
    delivered_shared.push(task);
  } else {
    ready_shared.push(task);
  }
}

// Resumed tasks run first, then tasks made from messages, as both hold memory. But tasks that wait
// again and again for what is there at once, and messages that make tasks for ever, must not keep
// others from running.
Task* TaskQueues::next() {
  const bool takes_ready = !throttled();
  if (++turns_ % kFairEvery == 0) {
    const bool ready_first = takes_ready && turns_ % (2 * kFairEvery) == 0;
    Task* const task = ready_first ? take_ready() : delivered_shared.try_pop();
    if (task != nullptr) return task;
  }
  if (Task* task = resumed_own.try_pop(); task != nullptr) return task;
  if (Task* task = delivered_shared.try_pop(); task != nullptr) return task;
  if (takes_ready) {
    if (Task* task = take_ready(); task != nullptr) return task;
  }
  return steal();
}

// Takes the task of the largest priority from three queues. Among equal ones, it takes the task of
// the deque, whose tasks have priority 0, because of the cache, then bound tasks, which no other
// worker can run. From time to time it takes bound tasks, or shared ones, first: tasks that submit
// tasks for ever must not keep others from running.
Task* TaskQueues::take_ready() {
  constexpr std::uint64_t kPlain = ReadyQueue::key_of(0);  // as in the deque
  const bool fair_turn = ++picks_ % kFairEvery == 0;
  const std::uint64_t bound = bound_own.top_key();
  const std::uint64_t shared = ready_shared.top_key();
  const std::uint64_t best = std::max(bound, shared);
  if (best < kPlain || (best == kPlain && !fair_turn)) {
    if (Task* task = deque.try_pop_if_any(); task != nullptr) return task;
  }
  if (best == 0) return nullptr;
  const bool bound_first = bound != shared ? bound > shared : picks_ % (2 * kFairEvery) != 0;
  ReadyQueue& first = bound_first ? bound_own : ready_shared;
  ReadyQueue& second = bound_first ? ready_shared : bound_own;
  if (Task* task = first.try_pop(); task != nullptr) return task;
  if (Task* task = second.try_pop(); task != nullptr) return task;
  return deque.try_pop();
}

// Steals from the other workers, in turn, beginning with a random one.
Task* TaskQueues::steal() {
  const auto count = static_cast<unsigned>(all_.size());
  if (count == 1) return nullptr;
  const bool delivered_only = throttled();
  const unsigned start = static_cast<unsigned>(random_() % count);
  for (unsigned i = 0; i < count; ++i) {
    TaskQueues& victim = *all_[(start + i) % count];
    if (&victim == this) continue;
    Task* task = victim.delivered_shared.try_pop();
    if (task == nullptr && !delivered_only) {
      task = victim.ready_shared.try_pop();
      if (task == nullptr) task = victim.deque.try_steal();
    }
    if (task == nullptr) continue;
    trace::steal(task->trace_id, (start + i) % count);
    return task;
  }
  return nullptr;
}

bool TaskQueues::sees_work() const {
  if (!resumed_own.looks_empty() || !delivered_shared.looks_empty()) return true;
  if (!throttled() &&
      (!bound_own.looks_empty() || !ready_shared.looks_empty() || deque.size_hint() > 0)) {
    return true;
  }
  return sees_stealable();
}

bool TaskQueues::sees_stealable() const {
  for (const TaskQueues* const victim : all_) {
    if (victim == this) continue;
    if (!victim->delivered_shared.looks_empty()) return true;
    if (throttled()) continue;
    if (!victim->ready_shared.looks_empty() || victim->deque.size_hint() > 0) return true;
  }
  return false;
}

QueueLengths TaskQueues::lengths() const {
  return {resumed_own.size(), bound_own.size(), delivered_shared.size(), ready_shared.size(),
          static_cast<std::size_t>(std::max<std::int64_t>(deque.size_hint(), 0))};
}

}  // namespace shoal::sched
