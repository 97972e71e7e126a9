#pragma once
// Executes the tasks of a rank, one at a time, on fibers of its own.

#include <shoal/env/stack_memory.hpp>
#include <shoal/sched/scheduler.hpp>
#include <shoal/sync/exposed.hpp>
#include <shoal/sync/strand.hpp>
#include <shoal/sync/work_deque.hpp>

#include "sched/fiber_pool.hpp"
#include "sched/parked.hpp"
#include "sched/ready_queue.hpp"

#include <functional>
#include <optional>
#include <random>

namespace shoal::sched {

/// The loop runs on a scheduling fiber. A task runs right there; when it blocks, its fiber is left
/// parked with the task's frames on it, and the loop goes on on another fiber. Another worker may
/// go on with the task, and then with the loop that stands below it on the fiber: code that comes
/// after a task has run, or after a switch, must ask for the current_worker() again.
///
/// Invariant: each fiber of the rank is either the current_ one of a worker, or idle, in idle_ of a
/// worker or in the pool (standing in the loop, no task on it), or parked under exactly one task.
class Worker final : public env::Steppable {
 public:
  Worker(Scheduler& scheduler, WorkerId id);
  ~Worker() override;

  env::StepResult step() override;
  void run() override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string purpose() const override;

  [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] WorkerId id() const { return id_; }

  /// Parks the running task, as one that runs, until the waiter that `publish` gets is woken.
  /// `what` says in what. This worker goes on with it, at once or, if `last`, behind what is ready.
  void suspend(const char* what, const Publish& publish, bool last = false);
  /// See sched::wait_for(). False: it was cancelled.
  [[nodiscard]] bool wait_for(Waitable& what);
  /// Runs, on the stack of the running task, the next one of the deque if `what` needs it. False:
  /// it does not, or it must not be run here.
  [[nodiscard]] bool run_nested(Waitable& what);
  /// See sched::spend().
  [[nodiscard]] bool spend(const Cost& cost);

  // --- reports

  /// Asks this worker to answer(). A number larger than all before.
  void ask(std::uint64_t number);
  [[nodiscard]] bool has_answered(std::uint64_t number) const {
    // acquire pairs with the release in answer()
    return answered_.load(std::memory_order_acquire) == number;
  }
  /// The owner, between two tasks.
  void answer() {
    answered_.store(asked_.load(std::memory_order_seq_cst), std::memory_order_release);
  }
  /// The owner. relaxed: seen a step later at the latest; sleep() looks again.
  [[nodiscard]] bool is_asked() const {
    return asked_.load(std::memory_order_relaxed) != answered_.load(std::memory_order_relaxed);
  }
  /// Not the owner, but in a world of one thread.
  [[nodiscard]] WorkerState state(std::uint64_t asked);
  /// The names of what runs now.
  void add_running(WorkerState& state);

  // Queues; who may take from them stands in their names.
  ReadyQueue resumed_own;       // parked fibers that only this worker goes on with
  ReadyQueue bound_own;         // tasks bound to this worker
  ReadyQueue delivered_shared;  // tasks made from messages, and parked fibers
  ReadyQueue ready_shared;      // with a priority, or pushed by others
  sync::WorkDeque<Task> deque;  // pushed by this worker without priority
  /// A task that this worker submits goes to its deque. The owner.
  [[nodiscard]] bool would_keep(const Task& task) const {
    return task.priority == 0 && !task.bound && task.kind != TaskKind::delivered &&
           (task.worker == Task::kAnyWorker || task.worker == id_.value());
  }
  void keep(Task* task) {
    if (task->scope != nullptr) task->scope->count_created(id_);
    deque.push(task);
  }

  /// See Scheduler::holds_work().
  [[nodiscard]] bool holds_work() const;
  /// Something that this worker may run, wherever it is queued.
  [[nodiscard]] bool sees_work() const;
  [[nodiscard]] bool throttled() const {
    return parked_senders_.load(std::memory_order_relaxed) >= kParkedSendersMax;
  }

  int handler_depth = 0;  // this worker's thread only
  // Owner writes; read by reports: staleness is harmless.
  std::atomic<std::uint64_t> tasks_run{0};
  std::atomic<std::uint64_t> begun{0};            // tasks, parts of tasks, handlers
  std::atomic<std::uint64_t> begun_uncounted{0};  // handlers of control messages
  void count_begun() {
    // relaxed: one writer, read by reports
    begun.store(begun.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // What runs on this worker, for a look from outside.
  sync::Exposed<const Task> running_task;
  sync::Exposed<const std::string> running_handler;

 private:
  friend class Scheduler;
  friend class ParkedSenderMark;
  friend Task* current_task();
  friend std::size_t explain_fault(const env::Fault& fault, bool names, char* text,
                                   std::size_t size);

  static constexpr int kParkedSendersMax = 64;
  enum class State : int { awake, asleep };

  static constexpr std::size_t kIdleFibersMax = 8;  // more go to the pool
  class ResumeTask;
  class ParkedHere;

  void enter_first_loop();
  static void enter_loop(void* unused);
  static void loop();
  // The worker that goes on with the caller's fiber then.
  [[nodiscard]] Worker& step_once();
  [[nodiscard]] Worker& look_around();
  [[nodiscard]] Task* quick_task();
  // Something else than the next task calls for attention.
  [[nodiscard]] bool is_called();
  [[nodiscard]] bool is_look_due() const;
  [[nodiscard]] bool has_only_deque() const;
  bool look_out();
  [[nodiscard]] bool look_out_nested();
  Worker& after_work();
  bool look_closer();
  void observe(env::Happening what, const Task* task, const std::string& where);
  static void run_function(Task& task, SchedulingFiber& fiber);
  void run_observed(Task& task, SchedulingFiber& fiber);
  static void fail(const Task& task);
  void leave_step(env::StepResult result);
  void idle();
  void sleep(bool may_poll);
  [[nodiscard]] std::uint64_t poll_timeout_ns() const;
  bool limit_by_timer(std::uint64_t& timeout_ns);
  Task* next_task();
  Task* take_ready();
  bool expire_timers();
  // The worker that goes on with the caller's fiber then.
  [[nodiscard]] Worker& execute(Task* task);
  [[nodiscard]] Worker& run_to_end(Task* task, const Task* outer);
  void begin_strand(const Task& task, sync::Strand& strand);
  [[nodiscard]] Worker& run(Task& task, SchedulingFiber& fiber);
  [[nodiscard]] Worker& end(Task* task, TaskScope* scope, SchedulingFiber& fiber,
                            const Task* outer);
  [[nodiscard]] Worker& worker_of(const SchedulingFiber& fiber);
  [[nodiscard]] static bool may_nest(const SchedulingFiber& fiber);
  void resume(SchedulingFiber& fiber);
  void switch_between(bool bound, SchedulingFiber& next);
  static void switch_fiber(SchedulingFiber& from, SchedulingFiber& to);
  void keep_idle(SchedulingFiber& fiber);
  void after_switch();
  SchedulingFiber& idle_fiber();
  void end_fibers();

  Scheduler& scheduler_;
  const WorkerId id_;
  std::unique_ptr<env::Parker> parker_;
  std::atomic<State> state_{State::awake};  // owner raises, owner or a waker lowers
  std::minstd_rand random_;
  unsigned ticks_ = 0;       // steps, and looks for a task to nest
  unsigned look_at_ = 1;     // of these ticks
  unsigned look_every_ = 1;  // ticks, then
  unsigned turns_ = 0;       // looks for a task
  unsigned picks_ = 0;       // of ready tasks
  unsigned idle_rounds_ = 0;
  std::atomic<int> parked_senders_{0};  // owner writes; read by reports
  bool was_poller_ = false;             // the last sleep was a short one, to poll or for a timer

  // An inspector raises asked_ and then wakes; a worker that is about to sleep looks at it like at
  // a queue: seq_cst, see sleep().
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> answered_{0};  // owner writes
  std::atomic<bool> slept_{false};          // when it was last asked

  ParkedList& parked_;  // those that parked on this worker
  std::unique_ptr<Fiber> thread_fiber_;
  std::optional<env::FaultWatch> fault_watch_;
  std::vector<SchedulingFiber*> idle_;
  SchedulingFiber* current_ = nullptr;
  std::function<void()> after_switch_;  // run by the fiber that is switched to
  bool stepping_ = false;               // driven by step(), not by run()
  env::StepResult step_result_ = env::StepResult::idle;
};

/// env::FaultExplainer: whether the running task's stack has overflowed.
std::size_t explain_fault(const env::Fault& fault, bool names, char* text, std::size_t size);

/// The calling thread's worker, or nullptr. Not inlined: a task may be on another thread after it
/// was suspended.
[[gnu::noinline]] Worker* current_worker();

}  // namespace shoal::sched
