#pragma once
// Executes the tasks of a rank, one at a time, on fibers of its own.

#include <shoal/detail/sched/scheduler.hpp>

#include "base/float_control.hpp"
#include "sched/idle_worker.hpp"
#include "sched/parked.hpp"
#include "sched/task_queues.hpp"
#include "sched/worker_activity.hpp"
#include "sched/worker_fibers.hpp"
#include "trace/recorder.hpp"

#include <algorithm>
#include <optional>

namespace shoal::sched {

/// Schedule of a busy worker's polls, by its steps. The number of steps to the next poll doubles
/// each time: it is small at first, since other ranks probably wait for a worker that was idle, and
/// messages of its first tasks should leave.
class PollSchedule {
 public:
  /// Counts a step, or a search for a task to run nested.
  void tick() { ++ticks_; }
  [[nodiscard]] bool is_due() const { return static_cast<int>(ticks_ - poll_at_) >= 0; }
  /// Makes the next poll due.
  void poll_next() { poll_at_ = ticks_; }
  void polled() {
    poll_at_ = ticks_ + poll_every_;
    poll_every_ = std::min(2 * poll_every_, kPollEvery);
  }
  /// Starts again, as the worker is idle and has just polled.
  void restart() {
    poll_at_ = ticks_ + kPollAfterIdle;
    poll_every_ = kPollSoon;
  }

 private:
  static constexpr unsigned kPollEvery = 16;     // ticks, at most
  static constexpr unsigned kPollAfterIdle = 3;  // one that finds a message, one for its task
  static constexpr unsigned kPollSoon = 2;

  unsigned ticks_ = 0;
  unsigned poll_at_ = 1;     // of these ticks
  unsigned poll_every_ = 1;  // ticks, then
};

/// The loop runs on a scheduling fiber. A task runs right there; when it blocks, its fiber is left
/// parked with the task's frames on it, and the loop continues on another fiber. Another worker may
/// continue the task, and then the loop below it on the fiber: code that comes after a task has
/// run, or after a switch, must ask for the current_worker() again.
class Worker final : public env::Steppable {
 public:
  Worker(Scheduler& scheduler, WorkerId id, FiberPool& pool, TaskQueues::All& all_queues);
  ~Worker() override;

  env::StepResult step() override;
  void run() override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string purpose() const override;
  /// Runs the loop; the entry function of a fiber.
  static void enter_loop(void* unused);

  [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] WorkerId id() const { return id_; }

  // Parts.
  TaskQueues queues;
  WorkerActivity activity;
  WorkerFibers fibers;
  IdleWorker idle;

  // --- Its own thread.

  /// Returns whether the worker has to attend to something else than the next task.
  [[nodiscard]] bool is_called();
  // On the stack of a waiting task. Like the loop, they let no exception through.
  /// Serves the callers. False: this needs the loop.
  [[nodiscard]] bool poll_in_task() noexcept;
  /// Handles messages until a wait is over, see sched::poll_until().
  [[nodiscard]] bool poll_until(FunctionRef<bool()> is_over) noexcept;
  /// Lets the worker poll before its next task.
  void poll_next() { polls_.poll_next(); }
  /// Ends the step in which a task has run, or messages were handled.
  Worker& after_work();
  /// Ends the step; the next step continues after this call.
  void leave_step(env::StepResult result);
  /// Keeps the worker busy for `cost`, see sched::spend().
  [[nodiscard]] bool spend(const Cost& cost);
  unsigned missed_polls = 0;  // see sched::poll_missed()

  /// Returns whether step() drives the worker, not run().
  [[nodiscard]] bool is_stepping() const { return stepping_; }
  /// Floating-point control with which tasks and handlers begin: that of the thread that called
  /// run(), from which the worker's thread has it.
  [[nodiscard]] const FloatControl& float_control() const { return float_control_; }

  /// Reports events of a task, and their places, to an environment that observes them.
  void observe(env::Happening what, const Task* task, const std::string& where);

 private:
  void begin();
  void end();
  /// Records the times of the worker's thread.
  void note_thread() const;
  // Returns the worker that continues the caller's fiber.
  [[nodiscard]] Worker& step_once();
  [[nodiscard]] Worker& find_work();
  [[nodiscard]] Worker& execute(Task* task);
  [[nodiscard]] Worker& execute_other(Task* task);
  [[nodiscard]] Task* quick_task();
  bool poll_if_due();
  bool poll_idle();
  void rest();

  Scheduler& scheduler_;
  const WorkerId id_;
  PollSchedule polls_;
  bool stepping_ = false;
  env::StepResult step_result_ = env::StepResult::idle;
  std::optional<env::FaultWatch> fault_watch_;
  trace::Track track_;  // of the recording, if there is one
  FloatControl float_control_;
};

[[gnu::always_inline]] inline bool Worker::is_called() {
  polls_.tick();
  return polls_.is_due() || scheduler_.progress().may_be_busy() || idle.was_short ||
         queues.throttled() || activity.is_asked();
}

/// Scope of code on a task's stack that is not the task's: begins with the worker's floating-point
/// control, and ends with the task's.
class BesideTask {
 public:
  explicit BesideTask(const Worker& worker) : of_task_(FloatControl::here()) {
    worker.float_control().apply();
  }
  ~BesideTask() { of_task_.apply(); }
  BesideTask(const BesideTask&) = delete;
  BesideTask& operator=(const BesideTask&) = delete;

 private:
  const FloatControl of_task_;
};

/// env::FaultExplainer: whether the running task's stack has overflowed.
std::size_t explain_fault(const env::Fault& fault, bool names, char* text, std::size_t size);

/// The calling thread's worker, or nullptr. Not inlined: a task may be on another thread after it
/// was suspended.
[[gnu::noinline]] Worker* current_worker();
void set_current_worker(Worker* worker);

/// When a worker continues a task that was woken.
enum class Turn : std::uint8_t {
  next,  // at once
  last,  // after the ready ones
  poll,  // likewise, and to go on is no progress of the program
};
/// Parks the running task, as one that runs, until the waiter that `publish` gets is woken. `what`
/// names the operation.
void suspend(Worker& worker, const char* what, const Publish& publish, Turn turn = Turn::next);

/// How a wait has come to its end.
enum class WaitEnd { over, cancelled, ended };  // ended: by the failure of its ending_scope()

/// Parks the running task in `what`, see sched::wait_for().
[[nodiscard]] WaitEnd park(Worker& worker, Waitable& what);

/// Runs the next task of the deque on the stack of the running task, if `what` needs it; returns
/// false if it does not, or if the task must not run there.
[[nodiscard]] bool run_nested(Worker& worker, Waitable& what);

}  // namespace shoal::sched
