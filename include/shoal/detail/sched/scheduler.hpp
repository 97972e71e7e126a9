#pragma once
// The workers of one rank.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/env/env.hpp>
#include <shoal/detail/env/guards.hpp>
#include <shoal/detail/sched/idle_workers.hpp>
#include <shoal/detail/sched/progress.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sched/timers.hpp>
#include <shoal/detail/sched/waiting_tasks.hpp>
#include <shoal/detail/sync/waiter.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::trace {
class Recorder;
}

namespace shoal::sched {

class FiberPool;
class Inspector;
class MemoryBoundLimit;
class TaskQueues;
class Worker;

struct SchedulerOptions {
  Rank rank;
  int worker_count = 1;
  std::size_t stack_bytes = 8UL << 20U;            // of each fiber; only touched pages cost memory
  env::Guards guards = env::Guards::automatic;     // below each
  std::size_t mapped_guards_max = 0;               // see env::StackMemory
  std::shared_ptr<env::GuardCount> mapped_guards;  // likewise
  bool oversubscribed = false;                     // more workers than CPUs: do not spin
  Function<void(WorkerId)> on_worker_start;        // on the worker's own thread
  trace::Recorder* recorder = nullptr;             // of this process; outlives the workers
  std::shared_ptr<MemoryBoundLimit> memory_bound;  // of this process; nullptr: no limit
};

class Scheduler {
 public:
  Scheduler(env::Env& env, const SchedulerOptions& options);
  /// All workers have stopped.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // --- before the first step
  void set_progress(Progress& progress) { progress_ = &progress; }
  /// Sets the scope that counts work without a task.
  void set_scope(TaskScope& scope) { scope_ = &scope; }

  [[nodiscard]] const SchedulerOptions& options() const { return options_; }
  [[nodiscard]] Rank rank() const { return options_.rank; }
  [[nodiscard]] int worker_count() const { return options_.worker_count; }
  [[nodiscard]] env::Env& env() const { return env_; }
  [[nodiscard]] Progress& progress() const { return *progress_; }
  [[nodiscard]] TaskScope& scope() const { return *scope_; }
  /// Returns the limit of memory-bound tasks; nullptr if there is none.
  [[nodiscard]] MemoryBoundLimit* memory_bound_limit() const { return memory_bound_; }
  /// Returns the workers, which the environment steps.
  [[nodiscard]] std::vector<env::Steppable*> steppables();

  // --- Any thread. Never block.

  /// Queues a task and counts it in its scope.
  void submit(std::unique_ptr<Task> task) { submit_owned(task.release()); }
  /// Queues a task that is counted in its scope already; not in the caller's own deque.
  void submit_counted(std::unique_ptr<Task> task);
  /// Queues a task that was submitted before, and taken out of the queues.
  void queue_again(Task* task) { enqueue(task); }
  /// Marks a task, before it is submitted, for the limit of memory-bound tasks if there is one.
  void mark_memory_bound(Task& task) const {
    if (memory_bound_ != nullptr) task.kind = TaskKind::memory_bound;
  }
  /// Returns the slot in which the caller counts: the calling worker's index, or the slot of other
  /// threads.
  [[nodiscard]] int count_slot() const;
  /// Leaves an error for the team of `scope`, see TaskScope::leave_error(). The calling worker
  /// polls before it runs another task, and so takes it up.
  void leave_error(TaskScope& scope, std::string task_name, std::exception_ptr error);
  /// Called by a task before it runs in attempts: see Progress::begin_attempts().
  void begin_attempts() {
    // acquire pairs with the release of the one that has told all
    if (attempts_begun_.load(std::memory_order_acquire)) return;
    progress_->begin_attempts();
    attempts_begun_.store(true, std::memory_order_release);
  }
  // See IdleWorkers.
  void wake_one(int preferred = Task::kAnyWorker) { idle_workers_.wake_one(preferred); }
  void look_again() { idle_workers_.look_again(); }
  void add_timer(Timer& timer, std::uint64_t due_ns) { idle_workers_.add_timer(timer, due_ns); }
  bool remove_timer(Timer& timer) { return idle_workers_.remove_timer(timer); }
  void request_stop() { idle_workers_.request_stop(); }
  /// Destroys the tasks that are left in the queues, after an error that stopped the world. Tasks
  /// may own objects of the team. **Caller**: when the workers have stopped, before anything of the
  /// rank ends.
  void drop_queued();

  // --- parts
  [[nodiscard]] IdleWorkers& idle_workers() { return idle_workers_; }
  /// Parked tasks and threads.
  [[nodiscard]] WaitingTasks& waiting() { return waiting_; }
  [[nodiscard]] const WaitingTasks& waiting() const { return waiting_; }
  /// Reports on the workers.
  [[nodiscard]] Inspector& inspector() { return *inspector_; }

 private:
  void submit_owned(Task* task);
  void enqueue(Task* task);

  env::Env& env_;
  const SchedulerOptions options_;
  Progress* progress_ = nullptr;
  TaskScope* scope_ = nullptr;
  MemoryBoundLimit* const memory_bound_;
  IdleWorkers idle_workers_;
  std::unique_ptr<FiberPool> fibers_;
  WaitingTasks waiting_;
  std::vector<TaskQueues*> queues_;  // by worker
  std::vector<std::unique_ptr<Worker>> workers_;
  const std::unique_ptr<Inspector> inspector_;
  std::atomic<bool> attempts_begun_{false};
  std::atomic<unsigned> next_worker_{0};  // round robin for tasks of foreign threads
};

/// Returns whether the calling thread is a worker.
[[nodiscard]] bool on_worker();
/// The exception of the catch (...) clause that calls it. Ends the process if there is none: then
/// pthread_exit() or pthread_cancel() ends a thread of shoal, which runs other tasks as well.
[[nodiscard]] std::exception_ptr caught_exception();
/// Number of handlers and attempts (see Attempt) that the calling thread runs; in a simulated
/// world, of all workers. A hint
/// that costs no call: a compiler may read that of the thread that a task was on before it waited,
/// where there is no handler either.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
[[gnu::tls_model("initial-exec")]] extern constinit thread_local int t_handlers;
/// The calling thread's worker runs a handler or an attempt. See in_handler().
[[nodiscard]] bool worker_runs_handler();
/// True on a worker's thread, inside a handler or an attempt: nothing may block here. Elsewhere it
/// costs no call.
[[nodiscard]] __attribute__((no_sanitize("thread"))) inline bool in_handler() {
  return t_handlers != 0 && worker_runs_handler();
}
/// Refuses `call`, which may wait, in the handler or attempt that runs. **Errors**: CheckError.
[[noreturn]] void refuse_in_handler(std::string_view call);
/// Throws CheckError in a handler, for calls that may wait.
inline void check_may_wait(const char* call) {
  if (in_handler()) [[unlikely]]
    refuse_in_handler(call);
}
/// Refuses `what` on a thread of the program in a simulated world, which steps all ranks in one
/// thread. **Errors**: CheckError.
void check_thread(Scheduler& scheduler, const char* what);
/// Called when a test such as is_ready() was not successful; returns false. In simulated worlds
/// many such tests end the worker's step, so that others continue and an endless loop is found.
bool poll_missed();
/// Returns the scope of the task or handler that calls; nullptr for that of the world, of a main
/// function, or none.
[[nodiscard]] TaskScope* current_scope();
/// Returns whether the caller may be suspended: a task that was not made from a message.
[[nodiscard]] bool in_suspendable_task();
/// Returns whether the caller is a rank's main function.
[[nodiscard]] bool in_main_function();
/// Returns the activity of the calling worker ("main", the name of a task or handler), or "".
[[nodiscard]] std::string current_activity();

/// Function that gets the waiter once the caller is parked, and hands it to the waker. It returns
/// false if there is no need to wait, and the waiter is unused.
using Publish = FunctionRef<bool(sync::Waiter&)>;

/// Waits until woken; the caller counts as running meanwhile, as it is certain that it is woken.
/// **Caller**: a task (its fiber is parked and resumed by the same worker) or a thread outside the
/// workers (it sleeps). **Errors**: CheckError in a handler; `what` names the operation, in reports
/// too.
void block(env::Env& env, const char* what, const Publish& publish);

}  // namespace shoal::sched
