#pragma once
// Fibers of one worker, and the switches between them.

#include "sched/fiber_pool.hpp"
#include "sched/worker_activity.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace shoal::sched {

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
