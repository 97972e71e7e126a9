#pragma once
// Ready tasks of one worker: selection of the next one, and stealing.

#include <shoal/detail/sched/task.hpp>
#include <shoal/rank.hpp>

#include "sched/ready_queue.hpp"
#include "sched/worker_state.hpp"
#include "sync/work_deque.hpp"

#include <atomic>
#include <random>
#include <vector>

namespace shoal::sched {

class TaskQueues {
 public:
  using All = std::vector<TaskQueues*>;  // of a rank, by worker

  /// Adds itself to `all`. `seed`: of the order in which it looks for victims.
  TaskQueues(All& all, WorkerId owner, unsigned seed);
  ~TaskQueues() { drop_all(); }
  TaskQueues(const TaskQueues&) = delete;
  TaskQueues& operator=(const TaskQueues&) = delete;

  // Queues; the names say which workers may take from them.
  ReadyQueue resumed_own;       // parked fibers that only this worker goes on with
  ReadyQueue bound_own;         // tasks bound to this worker
  ReadyQueue delivered_shared;  // tasks made from messages, and parked fibers
  ReadyQueue ready_shared;      // with a priority, or pushed by others
  sync::WorkDeque<Task> deque;  // pushed by this worker without priority

  // --- The owner.

  /// Returns whether a task that this worker submits goes to its deque.
  [[nodiscard]] bool would_keep(const Task& task) const {
    return task == TaskPlacement{} || task == here_;
  }
  void keep(Task* task) {
    if (!task->is_main()) task->scope->counts.task_created(owner_);
    deque.push(task);
  }
  /// Returns whether all queues except the deque are empty.
  [[nodiscard]] bool has_only_deque() const {
    return (resumed_own.top_key() | bound_own.top_key() | delivered_shared.top_key() |
            ready_shared.top_key()) == 0;
  }
  /// Destroys the tasks that are left, which is so only after an error that stopped the world; what
  /// they have may add others.
  void drop_all();
  /// Removes the next task to run from its queue and returns it; nullptr if there is none.
  Task* next();

  // --- Any thread.

  /// Queues a task that is counted already, and need not be kept.
  void push(Task* task);
  /// Returns whether there is a task that the owner may run, in any queue.
  [[nodiscard]] bool sees_work() const;
  /// Returns whether so many senders wait that the owner begins no further local task.
  [[nodiscard]] bool throttled() const {
    return parked_senders_.load(std::memory_order_relaxed) >= kParkedSendersMax;
  }
  /// Counts waiting senders of this worker.
  void add_parked_senders(int count) {
    parked_senders_.fetch_add(count, std::memory_order_relaxed);  // reports read it
  }
  [[nodiscard]] QueueLengths lengths() const;

 private:
  static constexpr int kParkedSendersMax = 64;

  Task* take_ready();
  [[nodiscard]] Task* steal();
  [[nodiscard]] bool sees_stealable() const;

  const All& all_;
  const WorkerId owner_;
  const TaskPlacement here_;  // of a task that is to be queued here, and is nothing special
  std::minstd_rand random_;
  unsigned turns_ = 0;  // looks for a task
  unsigned picks_ = 0;  // of ready tasks
  std::atomic<int> parked_senders_{0};
};

}  // namespace shoal::sched
