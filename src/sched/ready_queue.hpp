#pragma once
// Ready tasks that other threads may push or take: a heap under a lock.

#include <shoal/sched/task.hpp>
#include <shoal/sync/lasting_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

namespace shoal::sched {

/// Larger priority first, then first in, first out.
class ReadyQueue {
 public:
  /// Of a priority: larger for larger ones, and never 0.
  static constexpr std::uint64_t key_of(int priority) {
    return static_cast<std::uint64_t>(std::int64_t{priority} - std::numeric_limits<int>::min() + 1);
  }

  void push(Task* task) {
    const sync::LastingLock lock(mutex_);
    heap_.push_back({task->priority, next_sequence_++, task});
    std::push_heap(heap_.begin(), heap_.end(), comes_later);
    publish_top();
  }

  /// nullptr: empty.
  Task* try_pop() { return looks_empty() ? nullptr : pop(); }

  /// Of the first task's priority; 0 if there is none. Any thread.
  [[nodiscard]] std::uint64_t top_key() const {
    // seq_cst: a worker that is about to sleep looks here after raising its flag.
    return top_key_.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool looks_empty() const { return top_key() == 0; }
  /// For reports.
  [[nodiscard]] std::size_t size() const {
    const sync::LastingLock lock(mutex_);
    return heap_.size();
  }

 private:
  [[gnu::noinline]] Task* pop() {
    const sync::LastingLock lock(mutex_);
    if (heap_.empty()) return nullptr;
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    Task* task = heap_.back().task;
    heap_.pop_back();
    publish_top();
    return task;
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
    // seq_cst: a push is ordered before the pusher's look at sleeping workers.
    top_key_.store(heap_.empty() ? 0 : key_of(heap_.front().priority), std::memory_order_seq_cst);
  }

  mutable sync::LastingMutex mutex_;
  std::vector<Item> heap_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t next_sequence_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> top_key_{0};
};

}  // namespace shoal::sched
