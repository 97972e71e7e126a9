#pragma once
// The fibers of a rank's workers.

#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include "env/stack_memory.hpp"
#include "sched/fiber.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace shoal::sched {

struct Nesting;

/// Placeholder for a task while it is destroyed.
class EndingTask final : public Task {
 public:
  void run() override {}
  [[nodiscard]] std::string name() const override { return "the end of a task"; }
};

/// Fiber that runs the loop of the worker that enters it, and the tasks that it starts.
struct SchedulingFiber {
  SchedulingFiber(const env::Stack& stack, Fiber::Entry entry)
      : fiber(stack, entry, nullptr),
        nests_above(stack.bottom + (stack.size_bytes - stack.size_bytes / 8)) {}
  Fiber fiber;
  const std::byte* const nests_above;  // a task below this on its stack begins no other one there
  Task* task = nullptr;                // running or parked on it
  sync::Strand strand;                 // of that task
  bool was_left = false;               // since that task began: another worker may go on with it
  const Nesting* outer = nullptr;      // tasks below that one which wait for it
  EndingTask ending;
};

/// Pool of fibers: makes them, and keeps those that no worker needs now, which are in the loop
/// without a task. **Caller**: any thread.
class FiberPool {
 public:
  /// **Errors**: Error when there is no memory for the first stacks: one for each worker, and one
  /// for the main function.
  FiberPool(const SchedulerOptions& options, Fiber::Entry entry);
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// Returns an idle fiber, or a new one if there is none. **Errors**: Error when there is no
  /// memory for a new stack.
  SchedulingFiber& take();
  /// Returns a fiber on a stack that the constructor has made. **Precondition**: called at most
  /// once for each worker and for the main function.
  SchedulingFiber& take_first();
  /// Returns an idle fiber; nullptr if there is none.
  SchedulingFiber* try_take();
  void give(SchedulingFiber& idle);

  /// Returns the number of fibers. **Caller**: any thread.
  [[nodiscard]] std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  SchedulingFiber& make(const env::Stack& stack) SHOAL_REQUIRES(mutex_);

  sync::Mutex mutex_;
  env::StackMemory memory_ SHOAL_GUARDED_BY(mutex_);
  std::vector<env::Stack> first_ SHOAL_GUARDED_BY(mutex_);
  const Fiber::Entry entry_;
  std::vector<std::unique_ptr<SchedulingFiber>> all_ SHOAL_GUARDED_BY(mutex_);
  std::vector<SchedulingFiber*> idle_ SHOAL_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};  // a statistic
};

}  // namespace shoal::sched
