#pragma once
// The workers of one rank.

#include <shoal/base/function.hpp>
#include <shoal/env/env.hpp>
#include <shoal/env/stack_memory.hpp>
#include <shoal/sched/task.hpp>
#include <shoal/sched/timers.hpp>
#include <shoal/sched/worker_state.hpp>
#include <shoal/sync/exposed.hpp>
#include <shoal/sync/waiter.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace shoal::sched {

class FiberPool;
class ParkedList;
class Scheduler;
class Waitable;
class Worker;

/// What workers call between tasks: the am layer's message progress.
class Progress {
 public:
  /// Handles what has arrived; true if there was something. Returns at once while another worker
  /// of the rank is at it. `idle`: the caller has nothing else to do.
  virtual bool poll(bool idle) = 0;
  /// Whether a busy worker should poll(). Cheap, and now and then wrong: they do it anyway after a
  /// few tasks.
  [[nodiscard]] bool may_be_busy() const { return arrived_.load(std::memory_order_relaxed); }
  /// Something has arrived that nobody is handling.
  [[nodiscard]] virtual bool looks_busy() const = 0;
  /// Arrivals may come without a wake-up, and this worker may fetch them: it must not sleep long.
  [[nodiscard]] virtual bool must_poll(WorkerId worker) const = 0;
  /// Bytes are moving, but only while workers poll: they had better not sleep.
  [[nodiscard]] virtual bool is_streaming() const { return false; }
  /// A worker found nothing to do, after its last counts were made visible; true if that gave rise
  /// to something.
  virtual bool on_idle() = 0;

 protected:
  ~Progress() = default;
  /// Something has arrived. Any thread.
  void raise_arrived() {
    if (!may_be_busy()) arrived_.store(true, std::memory_order_relaxed);
  }
  /// Before a look at what has arrived. seq_cst: the look comes after it.
  void lower_arrived() {
    if (may_be_busy()) arrived_.exchange(false, std::memory_order_seq_cst);
  }

 private:
  std::atomic<bool> arrived_{false};
};

struct SchedulerOptions {
  Rank rank;
  int worker_count = 1;
  std::size_t stack_bytes = 8UL << 20U;            // of each fiber; only touched pages cost memory
  env::Guards guards = env::Guards::automatic;     // below each
  std::size_t mapped_guards_max = 0;               // see env::StackMemory
  std::shared_ptr<env::GuardCount> mapped_guards;  // likewise
  bool oversubscribed = false;                     // more workers than CPUs: do not spin
  Function<void(WorkerId)> on_worker_start;        // on the worker's own thread
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
  /// Where what comes to be without a task is counted.
  void set_scope(TaskScope& scope) { scope_ = &scope; }

  [[nodiscard]] Rank rank() const { return options_.rank; }
  [[nodiscard]] int worker_count() const { return options_.worker_count; }
  [[nodiscard]] env::Env& env() const { return env_; }
  [[nodiscard]] TaskScope& scope() const { return *scope_; }
  /// For the environment to drive.
  [[nodiscard]] std::vector<env::Steppable*> steppables();

  /// Hands a task over and counts it in its scope. Any thread. Never blocks.
  void submit(std::unique_ptr<Task> task);
  /// The calling worker's index, or the foreign slot: where the caller counts.
  [[nodiscard]] int count_slot() const;
  /// Wakes a sleeping worker, if any, preferring `preferred`. Any thread.
  void wake_one(int preferred = Task::kAnyWorker) {
    if (sleeper_count_.load(std::memory_order_seq_cst) != 0) wake_a_sleeper(preferred);
  }
  /// Wakes exactly this worker.
  void wake(WorkerId worker);
  /// Makes a worker that finds no work ask Progress::on_idle() (again): something that is no task
  /// and no message has ended. Any thread.
  void look_again();
  void request_stop();
  [[nodiscard]] bool stopping() const { return stopping_.load(std::memory_order_seq_cst); }

  // --- time. Any thread.

  void add_timer(Timer& timer, std::uint64_t due_ns);
  /// False: it has expired or expires right now.
  bool remove_timer(Timer& timer) { return timers_.remove(timer); }

  // --- what stands still in wait_for(). Any thread.

  /// Number of tasks that do and are not counted meanwhile.
  [[nodiscard]] std::uint64_t waiting_count() const;
  /// Lines that name them, and circles of locks among them.
  [[nodiscard]] std::vector<std::string> describe_waiting() const;
  /// A scope has failed: tasks and threads of it that stand still go on with an exception.
  void cancel_waiting(const TaskScope& scope);
  /// The same for the main function, of which its scope keeps track. False: it does not stand
  /// still.
  bool cancel_main();
  /// The operation in which the main function waits and cannot be cancelled, or "".
  [[nodiscard]] std::string keeps_main() const;
  /// Stacks that were ever in use at once, those of the workers among them.
  [[nodiscard]] std::size_t stack_count() const;

  /// Workers that run a task right now. Any thread; a hint.
  [[nodiscard]] int active_worker_count() const;
  [[nodiscard]] std::uint64_t tasks_run() const;
  /// A counted task is queued, runs or is parked. While no worker runs: for checks in simulated
  /// worlds.
  [[nodiscard]] bool holds_work() const;

  // --- reports. One thread at a time, no worker.

  /// Asks every worker to describe itself between two tasks, and wakes those that sleep.
  void ask_workers();
  /// By worker: how many tasks, parts of tasks and handlers it has begun. Any thread.
  [[nodiscard]] std::vector<std::uint64_t> begun() const;
  /// All have done so since the last ask_workers().
  [[nodiscard]] bool all_workers_answered() const;
  /// The workers' answers to the last ask_workers(); of a worker without one, its visible state.
  [[nodiscard]] std::vector<WorkerState> worker_states();
  /// The same without asking. **Caller**: the only thread there is, between steps.
  [[nodiscard]] std::vector<WorkerState> worker_states_here();

 private:
  friend class Worker;
  friend void wait_for(Waitable& what);
  friend class Deferred;
  /// The list of the calling worker; on any other thread, the list of threads.
  [[nodiscard]] ParkedList& parked_here() const;
  /// Counts and queues a task that does not go to the caller's own deque.
  void place(Task* task);
  /// The same for one that is counted already.
  void enqueue(Task* task);
  void wake_a_sleeper(int preferred);
  bool wake_if_asleep(Worker& worker);
  /// A task that `thief` may run from another worker's queues.
  Task* steal_for(Worker& thief, bool delivered_only);
  [[nodiscard]] bool has_stealable(const Worker& thief) const;

  env::Env& env_;
  const SchedulerOptions options_;
  Progress* progress_ = nullptr;
  TaskScope* scope_ = nullptr;
  std::unique_ptr<FiberPool> fibers_;
  std::vector<std::unique_ptr<ParkedList>> parked_;  // by worker; the last one is for threads
  Timers timers_;
  std::atomic<int> timer_keeper_{Task::kAnyWorker};  // the sleeping worker that wakes up for them
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<int> sleeper_count_{0};      // workers whose state is asleep
  std::atomic<bool> poller_taken_{false};  // one sleeper at a time wakes up to poll
  std::atomic<unsigned> next_worker_{0};   // round robin for tasks of foreign threads
  std::atomic<bool> look_again_{false};    // set by look_again(), lowered before on_idle()
  std::atomic<bool> stopping_{false};
  std::uint64_t asked_ = 0;  // how often ask_workers() was called
};

/// True on a worker's thread, inside a handler: nothing may block here.
[[nodiscard]] bool in_handler();
/// True if the caller may be suspended: a task, not one made from a message.
[[nodiscard]] bool in_suspendable_task();
/// True in a rank's main function.
[[nodiscard]] bool in_main_function();
/// What the calling worker is running ("main", a task's or a handler's name), or "".
[[nodiscard]] std::string current_activity();

/// Marks the calling worker as running handlers (or other code that must not block).
class HandlerMark {
 public:
  /// Unless `counts`, what begins is not counted in Scheduler::begun(): messages of shoal itself.
  explicit HandlerMark(bool counts = true);
  ~HandlerMark();
  HandlerMark(const HandlerMark&) = delete;
  HandlerMark& operator=(const HandlerMark&) = delete;

  /// Sets the name of the handler that begins, for reports. `name` must live until hide() has
  /// returned.
  void show(const std::string& name) {
    if (shown_ != nullptr) shown_->show(&name);
  }
  /// It begins, for one message.
  void begin() {
    if (shown_ == nullptr) return;
    // relaxed: one writer, read by reports
    begun_->store(begun_->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (observer_ != nullptr) observer_->observe(env::Happening::handles, *shown_->shown());
  }
  /// It has ended.
  void hide() {
    if (shown_ != nullptr) shown_->hide(outer_);
  }

 private:
  // Of the worker; null on a thread that is none.
  sync::Exposed<const std::string>* shown_ = nullptr;
  std::atomic<std::uint64_t>* begun_ = nullptr;
  int* depth_ = nullptr;
  env::Env* observer_ = nullptr;
  const std::string* outer_ = nullptr;  // the handler that this one runs in
};

/// Marks the calling worker as having one more sender that stands still: beyond a limit it starts
/// no further local task, so that a flood does not pile up stacks.
class ParkedSenderMark {
 public:
  ParkedSenderMark();
  ~ParkedSenderMark();
  ParkedSenderMark(const ParkedSenderMark&) = delete;
  ParkedSenderMark& operator=(const ParkedSenderMark&) = delete;

 private:
  Worker* worker_;
};

/// Given the waiter once the caller is parked; hands it to whoever will wake it. False: there is no
/// need to wait, and nobody has the waiter.
using Publish = FunctionRef<bool(sync::Waiter&)>;

/// Stands still until woken, as something that runs: what wakes it will come. **Caller**: a task
/// (its fiber is parked and resumed by the same worker) or a foreign thread (it sleeps).
/// **Errors**: CheckError in a handler; `what` says what was asked for, in reports too.
void block(env::Env& env, const char* what, const Publish& publish);

}  // namespace shoal::sched
