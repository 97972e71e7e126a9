#pragma once
// Limit of memory-bound tasks that run beside large transfers.

#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace shoal::sched {

class Scheduler;

/// Lets at most `most` memory-bound tasks of a process run at once while a large transfer arrives.
/// Further ones are held back here, in no queue of a worker, and are queued again when a place is
/// free or the last transfer has ended. Without transfers there is no limit.
///
/// Tasks that run already when a transfer begins go on. A task gives its place up while it waits,
/// and is not held back again when it goes on: else two tasks could wait for each other.
///
/// **Caller**: any thread. **Blocks**: never.
class MemoryBoundLimit {
 public:
  explicit MemoryBoundLimit(int most) : most_(most) {}
  ~MemoryBoundLimit();
  MemoryBoundLimit(const MemoryBoundLimit&) = delete;
  MemoryBoundLimit& operator=(const MemoryBoundLimit&) = delete;

  /// Queues a task that was held back.
  using QueueAgain = void (*)(Scheduler& scheduler, Task* task);

  /// Called by each scheduler with the same function, before its first task.
  void set_queue_again(QueueAgain queue_again) {
    const sync::Lock lock(mutex_);
    queue_again_ = queue_again;
  }

  /// Called when a worker of `scheduler` is about to run `task`. Returns true if the task has a
  /// place, until it is destroyed; false if it is held back, and then the caller must not touch it
  /// any more.
  [[nodiscard]] bool try_begin(Scheduler& scheduler, Task& task);

  /// Counts a large transfer to this process that begins, or has ended.
  void begin_transfer();
  void end_transfer();

  /// Destroys the tasks that are held back, which happens only after an error.
  void discard(const Scheduler& scheduler);

  /// State of the limit, for reports.
  struct State {
    int most = 0;
    int running = 0;    // memory-bound tasks of the process
    int transfers = 0;  // to the process
    std::size_t held = 0;
  };
  /// `held`: of the tasks of `scheduler`.
  [[nodiscard]] State state(const Scheduler& scheduler) const;

 private:
  class Place;
  struct Held {
    Scheduler* scheduler;
    Task* task;
  };
  // Larger priority first, then first in, first out.
  using Order = std::pair<std::int64_t, std::uint64_t>;
  using HeldTasks = std::map<Order, Held>;

  void enter();
  void leave();

  const int most_;
  mutable sync::Mutex mutex_;
  int running_ SHOAL_GUARDED_BY(mutex_) = 0;
  int transfers_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_number_ SHOAL_GUARDED_BY(mutex_) = 0;
  HeldTasks held_ SHOAL_GUARDED_BY(mutex_);
  QueueAgain queue_again_ SHOAL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace shoal::sched
