#pragma once
// Ready tasks of one worker: selection of the next one, and stealing.

#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/prefetch.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>
#include <shoal/rank.hpp>

#include "sched/worker_state.hpp"
#include "sync/work_deque.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace shoal::sched {

/// First in, first out. Its memory grows with the number of tasks, and stays.
class TaskRing {
 public:
  void push(Task* task) {
    if (last_ - first_ == slots_.size()) grow();
    slots_[last_++ & (slots_.size() - 1)] = task;
  }
  /// **Precondition**: not empty. Prefetches a task that will run soon.
  Task* pop() {
    sync::prefetch_to_write(slots_[(first_ + kAhead) & (slots_.size() - 1)]);  // or any old one
    return slots_[first_++ & (slots_.size() - 1)];
  }
  [[nodiscard]] std::size_t size() const { return last_ - first_; }

 private:
  static constexpr std::size_t kAhead = 8;

  void grow() {
    std::vector<Task*> slots(std::max<std::size_t>(2 * slots_.size(), 64));
    for (std::size_t i = first_; i < last_; ++i) {
      slots[i - first_] = slots_[i & (slots_.size() - 1)];
    }
    last_ -= std::exchange(first_, 0);
    slots_ = std::move(slots);
  }

  std::vector<Task*> slots_;  // a power of two, or none
  std::size_t first_ = 0;     // counted on for ever
  std::size_t last_ = 0;
};

/// Larger priority first, then first in, first out. Tasks without a priority cost no search.
class ReadyQueue {
 public:
  /// Key of a priority: larger for larger ones, and never 0.
  static constexpr std::uint64_t key_of(int priority) {
    return static_cast<std::uint64_t>(std::int64_t{priority} - std::numeric_limits<int>::min() + 1);
  }

  void push(Task* task) {
    const sync::StoreReleaseLock lock(mutex_);
    if (task->priority == 0) {
      plain_.push(task);
    } else {
      heap_.push_back({task->priority, next_sequence_++, task});
      std::push_heap(heap_.begin(), heap_.end(), comes_later);
    }
    publish_top();
  }

  /// Removes the first task and returns it; nullptr if there is none.
  Task* try_pop() { return looks_empty() ? nullptr : pop(); }

  /// Returns the key of the first task's priority; 0 if there is none. **Caller**: any thread.
  [[nodiscard]] std::uint64_t top_key() const {
    // seq_cst: a worker that is about to sleep looks here after raising its flag.
    return top_key_.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool looks_empty() const { return top_key() == 0; }
  /// For reports.
  [[nodiscard]] std::size_t size() const {
    const sync::StoreReleaseLock lock(mutex_);
    return plain_.size() + heap_.size();
  }

 private:
  [[gnu::noinline]] Task* pop() {
    const sync::StoreReleaseLock lock(mutex_);
    if (!plain_first() && heap_.empty()) return nullptr;
    Task* const task = plain_first() ? plain_.pop() : pop_heap();
    publish_top();
    return task;
  }
  Task* pop_heap() SHOAL_REQUIRES(mutex_) {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    Task* const task = heap_.back().task;
    heap_.pop_back();
    return task;
  }
  [[nodiscard]] bool plain_first() const SHOAL_REQUIRES(mutex_) {
    return plain_.size() > 0 && (heap_.empty() || heap_.front().priority < 0);
  }

  struct Item {
    int priority;
    std::uint64_t sequence;
    Task* task;
  };
  static bool comes_later(const Item& a, const Item& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.sequence > b.sequence;
  }
  void publish_top() SHOAL_REQUIRES(mutex_) {
    const std::uint64_t key = plain_first()   ? key_of(0)
                              : heap_.empty() ? 0
                                              : key_of(heap_.front().priority);
    // seq_cst: a push is ordered before the pusher's look at sleeping workers.
    top_key_.store(key, std::memory_order_seq_cst);
  }

  mutable sync::StoreReleaseMutex mutex_;
  TaskRing plain_ SHOAL_GUARDED_BY(mutex_);  // of priority 0
  std::vector<Item> heap_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t next_sequence_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> top_key_{0};
};

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
