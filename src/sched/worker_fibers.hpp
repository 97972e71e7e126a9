#pragma once
// Fibers of one worker, and the switches between them.

#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/strand.hpp>

#include "base/float_control.hpp"
#include "env/stack_memory.hpp"
#include "sched/worker_activity.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <boost/context/fiber.hpp>

namespace shoal::sched {

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  /// Makes the context of the stack of the calling thread.
  Fiber();
  /// Runs entry(argument) on `stack` when first entered; when it returns, the context given to
  /// leave_to() is entered and this one has ended. The stack outlives the fiber.
  Fiber(const env::Stack& stack, Entry entry, void* argument);
  /// Destroys a fiber that has ended, or that of a thread. A fiber that still has frames is
  /// abandoned with them.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves `from`, which must be running, and enters `to`. Returns when `from` is entered again,
  /// perhaps by another thread.
  static void switch_to(Fiber& from, Fiber& to);
  /// Sets the fiber to enter when the entry function returns; that calls it last.
  void leave_to(Fiber& to) { leave_to_ = &to; }

  /// Returns whether no frames are left on the fiber, or no other fiber has entered it.
  [[nodiscard]] bool has_ended() const { return !context_; }
  /// Stack of the fiber; unknown for a thread's own.
  [[nodiscard]] env::Stack stack() const {
    return {static_cast<std::byte*>(const_cast<void*>(stack_bottom_)), stack_bytes_};
  }

 private:
  /// Gives up the stack with its objects, which are never destroyed.
  void abandon();
  void before_switch_to(Fiber& to, bool ends);
  void arrived();

  // The C++ runtime keeps the caught exceptions of a thread in thread-local storage; each fiber
  // keeps its own copy, or a wait() inside a catch block would mix them up.
  struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught_count = 0;
  };
  static ExceptionState& thread_exception_state();

  boost::context::fiber context_;
  Fiber* leave_to_ = nullptr;
  Fiber* came_from_ = nullptr;
  ExceptionState exceptions_;
  [[maybe_unused]] FloatControl float_control_;  // where a switch does not keep it
  ExceptionState* thread_exceptions_ = nullptr;  // of the thread that entered this fiber last
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;  // AddressSanitizer's
  sync::StackContext context_for_tsan_;          // ThreadSanitizer's
  [[maybe_unused]] bool is_thread_;
};

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
  const LongCall* in_call = nullptr;   // of that task, the innermost one
  EndingTask ending;
  std::exception_ptr thrown;  // by that task, until its scope has it
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

/// Invariant: each fiber of the rank is either the current() one of a worker, or idle, here or in
/// the pool (standing in the loop, no task on it), or parked under exactly one task.
///
/// Another worker may continue a fiber that was left: code after a switch asks for the
/// current_worker() again.
class WorkerFibers {
 public:
  WorkerFibers(FiberPool& pool, WorkerActivity& activity) : pool_(pool), activity_(activity) {}
  WorkerFibers(const WorkerFibers&) = delete;
  WorkerFibers& operator=(const WorkerFibers&) = delete;

  // --- Between the thread's own stack and the loop.

  [[nodiscard]] bool have_begun() const { return thread_ != nullptr; }
  /// Takes the first fiber, and a spare one.
  void begin(bool with_spare);
  /// From the thread's stack to the current fiber; returns after leave().
  void enter() { Fiber::switch_to(*thread_, current_->fiber); }
  /// Back to the thread's stack; returns after the next enter().
  void leave() { Fiber::switch_to(current_->fiber, *thread_); }
  /// Last words of a fiber that has left the loop.
  void end_current() { current_->fiber.leave_to(*thread_); }
  /// Lets the idle fibers return from the loop, one by one. Parked fibers, which exist only after
  /// an error, stay.
  void end_idle();

  // --- On a fiber.

  [[nodiscard]] bool have_current() const { return current_ != nullptr; }
  [[nodiscard]] SchedulingFiber& current() const { return *current_; }
  /// The task that runs, or nullptr.
  [[nodiscard]] Task* task() const { return current_ != nullptr ? current_->task : nullptr; }
  [[nodiscard]] env::Stack stack() const { return current_->fiber.stack(); }
  /// One to leave the current one for. **Errors**: Error when there is no memory for a new stack.
  [[nodiscard]] SchedulingFiber& take_idle();
  /// Leaves the current fiber under its task and enters `next`, which first calls then(argument).
  /// Returns when the task continues. `then` may publish objects on the stack that was left: any
  /// worker may continue it from then on.
  void leave_for(SchedulingFiber& next, void (*then)(void* argument), void* argument) {
    then_ = then;
    argument_ = argument;
    switch_between(*current_, next);
  }
  /// Leaves the current fiber, which has no task, and goes on with a parked one.
  void resume(SchedulingFiber& fiber);
  /// Calls the function given to leave_for() for the entered fiber; true if there was one.
  bool finish_switch() {
    if (then_ == nullptr) return false;
    std::exchange(then_, nullptr)(argument_);
    return true;
  }

 private:
  static void switch_between(SchedulingFiber& from, SchedulingFiber& to);
  void keep_idle(SchedulingFiber& fiber);

  FiberPool& pool_;
  WorkerActivity& activity_;
  std::unique_ptr<Fiber> thread_;
  std::vector<SchedulingFiber*> idle_;
  SchedulingFiber* current_ = nullptr;
  void (*then_)(void* argument) = nullptr;  // called by the fiber that is switched to
  void* argument_ = nullptr;
};

}  // namespace shoal::sched
