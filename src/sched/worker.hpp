#pragma once
// Executes the tasks of a rank, one at a time, on fibers of its own.

#include <shoal/sched/scheduler.hpp>
#include <shoal/sync/exposed.hpp>
#include <shoal/sync/work_deque.hpp>

#include "sched/fiber.hpp"
#include "sched/ready_queue.hpp"

#include <random>

namespace shoal::sched {

/// The loop runs on a scheduling fiber. A task runs right there; when it blocks, its fiber is left
/// parked with the task's frames on it, and the loop goes on on another fiber.
///
/// Invariant: each fiber of the worker is either current_, or in idle_ (standing in the loop, no
/// task on it), or parked under exactly one task.
class Worker final : public env::Steppable {
 public:
  Worker(Scheduler& scheduler, WorkerId id);
  ~Worker() override;

  env::StepResult step() override;
  void run() override;
  [[nodiscard]] std::string name() const override;

  [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] WorkerId id() const { return id_; }

  /// Parks the running task until the waiter that `publish` gets is woken. `what` says in what.
  void suspend(const char* what, const Publish& publish);
  /// See sched::spend().
  [[nodiscard]] bool spend(const Cost& cost);

  // --- reports

  /// Asks this worker to answer(). A number larger than all before.
  void ask(std::uint64_t number);
  [[nodiscard]] bool has_answered(std::uint64_t number) const {
    // acquire pairs with the release in answer()
    return answered_.load(std::memory_order_acquire) == number;
  }
  /// Describes itself: the owner, between two tasks.
  void answer();
  /// Not the owner, but in a world of one thread.
  [[nodiscard]] WorkerState state(std::uint64_t asked);
  /// The names of what runs now.
  void add_running(WorkerState& state);

  // Queues; who may take from them stands in their names.
  ReadyQueue resumed_own;       // parked fibers that may go on
  ReadyQueue bound_own;         // tasks bound to this worker
  ReadyQueue delivered_shared;  // tasks made from messages
  ReadyQueue ready_shared;      // with a priority, or pushed by others
  sync::WorkDeque<Task> deque;  // pushed by this worker without priority

  /// See Scheduler::holds_work().
  [[nodiscard]] bool holds_work() const;
  /// Something that this worker may run, wherever it is queued.
  [[nodiscard]] bool sees_work() const;
  [[nodiscard]] bool throttled() const { return parked_senders_ >= kParkedSendersMax; }

  int handler_depth = 0;  // this worker's thread only
  // Owner writes; read by reports: staleness is harmless.
  std::atomic<std::uint64_t> tasks_run{0};
  std::atomic<std::uint64_t> begun{0};  // tasks, parts of tasks, handlers
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
  friend std::string current_activity();
  friend bool in_suspendable_task();
  friend bool in_main_function();

  static constexpr int kParkedSendersMax = 64;
  enum class State : int { awake, asleep };

  struct SchedulingFiber {
    SchedulingFiber(std::size_t stack_bytes, Fiber::Entry entry, void* argument)
        : fiber(stack_bytes, entry, argument) {}
    Fiber fiber;
    Task* task = nullptr;             // running or parked on it
    const char* parked_in = nullptr;  // while the task is parked, for reports
    std::uint64_t parked_since_ns = 0;
  };
  class ResumeTask;

  static void enter_loop(void* worker);
  void loop();
  env::StepResult step_once();
  void after_step(env::StepResult result);
  void leave_step(env::StepResult result);
  void idle();
  void sleep(bool may_poll);
  Task* next_task();
  Task* take_ready();
  void execute(Task* task);
  void run_counted(std::unique_ptr<Task> task);
  void resume(SchedulingFiber& fiber);
  void switch_fiber(SchedulingFiber& from, SchedulingFiber& to);
  void after_switch();
  SchedulingFiber& idle_fiber();
  void end_fibers();

  Scheduler& scheduler_;
  const WorkerId id_;
  std::unique_ptr<env::Parker> parker_;
  std::atomic<State> state_{State::awake};  // owner raises, owner or a waker lowers
  std::minstd_rand random_;
  unsigned ticks_ = 0;
  unsigned turns_ = 0;  // looks for a task
  unsigned picks_ = 0;  // of ready tasks
  unsigned idle_rounds_ = 0;
  int parked_senders_ = 0;
  bool was_poller_ = false;  // the last sleep was a short one, to poll

  // An inspector raises asked_ and then wakes; a worker that is about to sleep looks at it like at
  // a queue: seq_cst, see sleep().
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> answered_{0};  // owner writes
  sync::Mutex answer_mutex_;
  struct Answer {
    std::vector<ParkedTask> parked;
    bool throttled = false;
  };
  Answer answer_ SHOAL_GUARDED_BY(answer_mutex_);
  std::atomic<bool> slept_{false};  // when it was last asked

  std::unique_ptr<Fiber> thread_fiber_;
  std::vector<std::unique_ptr<SchedulingFiber>> fibers_;
  std::vector<SchedulingFiber*> idle_;
  SchedulingFiber* current_ = nullptr;
  std::function<void()> after_switch_;  // run by the fiber that is switched to
  bool stepping_ = false;               // driven by step(), not by run()
  env::StepResult step_result_ = env::StepResult::idle;
};

/// The calling thread's worker, or nullptr. Not inlined: a task may be on another thread after it
/// was suspended.
[[gnu::noinline]] Worker* current_worker();

}  // namespace shoal::sched
