#pragma once
// A unit of work, and the scope that counts it.

#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shoal::sched {

/// Counters are kept per worker (one writer each) and summed by detection only. Threads that are no
/// workers share a slot.
class WorkCounts {
 public:
  struct Totals {
    std::uint64_t created = 0;  // tasks
    std::uint64_t finished = 0;
    std::uint64_t queued = 0;  // messages
    std::uint64_t processed = 0;
    bool operator==(const Totals&) const = default;
  };

  explicit WorkCounts(int worker_count);
  WorkCounts(const WorkCounts&) = delete;
  WorkCounts& operator=(const WorkCounts&) = delete;

  // Each counts one event for the calling worker, or in the slot of other threads.
  void task_created(int slot) { add(slots_[index(slot)].created, slot); }
  void task_finished(int slot) { add(slots_[index(slot)].finished, slot); }
  void task_created(WorkerId worker) { add_own(slots_[index(worker.value())].created, 1); }
  void task_finished(WorkerId worker) { add_own(slots_[index(worker.value())].finished, 1); }
  void message_queued(int slot) { add(slots_[index(slot)].queued, slot); }
  void messages_processed(int slot, std::uint64_t n = 1) {
    add(slots_[index(slot)].processed, slot, n);
  }

  /// Sums all slots. Reads finished and processed before queued and created: a finished task was
  /// created before, so finished == created proves a moment, between the reads, at which
  /// every created task had finished (docs/design/completion.md).
  [[nodiscard]] Totals totals() const {
    Totals sum;
    add_ended(sum);
    add_begun(sum);
    return sum;
  }
  /// The two parts of totals(), in this order, for sums over several scopes: of all scopes the
  /// first part is read before the second part of any.
  void add_ended(Totals& sum) const;
  void add_begun(Totals& sum) const;

  /// The messages counted as queued so far, perhaps without the last few.
  [[nodiscard]] std::uint64_t queued_so_far() const {
    std::uint64_t sum = 0;
    for (int slot = 0; slot <= foreign_slot_; ++slot) {
      sum += slots_[index(slot)].queued.load(std::memory_order_relaxed);
    }
    return sum;
  }

  /// The slot of threads that are no workers.
  [[nodiscard]] int foreign_slot() const { return foreign_slot_; }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> created{0};
    std::atomic<std::uint64_t> finished{0};
    std::atomic<std::uint64_t> queued{0};
    std::atomic<std::uint64_t> processed{0};
  };
  static std::size_t index(int slot) { return static_cast<std::size_t>(slot); }
  // release pairs with the acquire in totals(): a reader of the count sees what happened
  // before it. Workers' slots have one writer, so a plain add is enough.
  void add(std::atomic<std::uint64_t>& counter, int slot, std::uint64_t n = 1) const {
    if (slot == foreign_slot_) {
      counter.fetch_add(n, std::memory_order_release);
    } else {
      add_own(counter, n);
    }
  }
  static void add_own(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_release);
  }

  const int foreign_slot_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace shoal::sched

namespace shoal {

class TaskGroup;
}

namespace shoal::sched {

class Scheduler;
class Task;
class TaskScope;

/// Something that belongs to one task, and ends with it.
class TaskLocal {
 public:
  virtual ~TaskLocal() = default;
  /// Called on the task's stack before it is parked in wait_for(), yield() or an operation of all
  /// members of a team, and possibly again before it continues. Must not throw, nor wait.
  virtual void parks() {}
  /// Called on the task's stack when it continues. May wait itself. Must not throw.
  virtual void goes_on() {}
  /// Called on the task's stack before it waits for room to send a message, and after that (false).
  /// Must not throw, nor wait.
  virtual void waits_for_room(bool /*begins*/) {}
  /// The local that a task which its task submits is to have; nullptr: none. Called on the task's
  /// stack.
  [[nodiscard]] virtual std::unique_ptr<TaskLocal> for_submitted(const Task& /*task*/) const {
    return nullptr;
  }

 private:
  friend class Task;
  /// Out of line: hardly any task has some.
  struct End {
    [[gnu::noinline]] void operator()(const TaskLocal* local) const { delete local; }
  };
  std::unique_ptr<TaskLocal, End> next_;
};

enum class TaskKind : std::uint8_t {
  local,         // made by a task, the main function or a foreign thread
  delivered,     // made from a message: runs even while senders of this worker stand still
  resumed,       // a parked fiber that may go on
  memory_bound,  // local; MemoryBoundLimit is asked before it runs. Not without a limit
};

/// How a task is queued. One word, as each task that is submitted is looked at for all four.
struct TaskPlacement {
  static constexpr int kAnyWorker = -1;

  int priority = 0;                  // larger first, among the ready tasks of one worker
  std::int16_t worker = kAnyWorker;  // where it is queued at first
  bool bound = false;                // true: only `worker` may run it
  TaskKind kind = TaskKind::local;

  bool operator==(const TaskPlacement& other) const {
    return std::bit_cast<std::uint64_t>(*this) == std::bit_cast<std::uint64_t>(other);
  }
};

/// Runs once, on one worker. Owned by the scheduler from submit() on. Tasks come and go by the
/// million.
class Task : public sync::Pooled, public TaskPlacement {
 public:
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual void run() = 0;
  [[nodiscard]] TaskPlacement& placement() { return *this; }
  /// Name in error reports.
  [[nodiscard]] virtual std::string name() const = 0;
  /// The name that it or its kind was given, or "". For signal handlers: takes no memory and no
  /// lock.
  [[nodiscard]] virtual std::string_view plain_name() const noexcept { return {}; }
  /// The main function of a rank: it alone is not counted.
  [[nodiscard]] bool is_main() const { return scope == nullptr; }
  /// Longest text that write_key() writes.
  static constexpr std::size_t kKeyTextMax = 96;
  /// Writes the task's key, by which traces tell it from others of its plain name; returns how many
  /// characters. 0: it has none.
  virtual std::size_t write_key(std::span<char> /*text*/) const noexcept { return 0; }
  /// Writes the name of the tasks with which traces sum it up, if that is not plain_name(); returns
  /// how many characters. 0: it is.
  virtual std::size_t write_family(std::span<char> /*text*/) const noexcept { return 0; }
  /// Writes the key in place of write_key(), if it is an int or a tuple of a few; returns how many.
  /// 0: it is not.
  virtual std::size_t write_numbers(std::span<std::int32_t> /*numbers*/) const noexcept {
    return 0;
  }
  /// Number, in traces, of the dependencies that it had before it was made; 0: none are recorded.
  [[nodiscard]] virtual std::uint64_t join() const noexcept { return 0; }
  /// Called before run() where tasks are recorded; it has its trace_id. A task that takes what it
  /// runs only now returns true, and has the name of that.
  virtual bool begin_recorded() { return false; }
  /// It is about to be parked for long; the main function, in a wait that only other tasks end, and
  /// also before it polls for that.
  virtual void before_parking() {}

  TaskScope* scope = nullptr;  // counts it; nullptr: is_main()
  TaskGroup* group = nullptr;  // that it belongs to
  std::uint64_t trace_id = 0;  // 0: it is in no trace

  /// Local of this type that belongs to the task, or nullptr. **Caller**: the task, or its creator.
  template <class Local>
  [[nodiscard]] Local* find_local() const {
    for (TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) {
      if (auto* const found = dynamic_cast<Local*>(one); found != nullptr) return found;
    }
    return nullptr;
  }
  void add_local(std::unique_ptr<TaskLocal> local) {
    local->next_ = std::move(local_);
    local_.reset(local.release());
  }
  /// Tells each TaskLocal that the task is about to be parked. **Caller**: the task.
  void tell_parks() const {
    for (TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) one->parks();
  }
  void tell_goes_on() const {
    for (TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) one->goes_on();
  }
  void tell_waits_for_room(bool begins) const {
    for (TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get())
      one->waits_for_room(begins);
  }
  /// It submits `task`. **Caller**: the task.
  void tell_submits(Task& task) const {
    if (local_ != nullptr) [[unlikely]]
      give_locals(task);
  }

 protected:
  Task() = default;

 private:
  [[gnu::noinline]] void give_locals(Task& task) const;

  std::unique_ptr<TaskLocal, TaskLocal::End> local_;
};

/// The error of a task, with the task's name.
struct LeftError {
  std::string task_name;
  std::exception_ptr error;
};

/// A set of ranks whose tasks and messages are counted together; this is one rank's share. The
/// scheduler counts here, and leaves here what the team takes up when it looks: the first error of
/// a task, and that the main function or a thread waits. It calls nothing of the team.
class TaskScope {
 public:
  using Totals = WorkCounts::Totals;

  /// `outer`: the scope that this one is nested in; it lives longer.
  /// `number`: the same on all ranks, and another one for each scope.
  TaskScope(Rank rank, int worker_count, TaskScope* outer = nullptr, std::uint64_t number = 0);
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  WorkCounts counts;

  /// Counts tasks that are parked and not in `counts` meanwhile. Kept for nested scopes only.
  void count_parked(bool parks) {
    if (outer_ == nullptr) return;
    if (parks) {
      parked_tasks_.fetch_add(1, std::memory_order_release);
    } else {
      parked_tasks_.fetch_sub(1, std::memory_order_release);
    }
  }
  [[nodiscard]] std::uint64_t parked_tasks() const {
    return parked_tasks_.load(std::memory_order_acquire);
  }

  /// The scope that this one is nested in; nullptr for the world's.
  [[nodiscard]] TaskScope* outer() const { return outer_; }
  /// It is `other`, or nested in it to any depth.
  [[nodiscard]] bool is_within(const TaskScope& other) const {
    const TaskScope* scope = this;
    while (scope != nullptr && scope != &other) scope = scope->outer_;
    return scope != nullptr;
  }

  // --- orders in simulated worlds with --sim-races, see sync/strand.hpp

  /// Orders those that observe the ends of this scope later, on any rank, or of one that it is
  /// nested in, after the calling strand.
  void publish_end() const {
    if (sync::watches_strands()) publish_ends();
  }
  /// Orders the calling strand after all tasks, handlers and waits of the scope that have ended.
  void observe_ends() const {
    if (sync::watches_strands()) sync::observe(sync::shared_token(number_));
  }

  // --- failure. Any thread.

  /// True once the scope has failed: its tasks are dropped instead of run.
  [[nodiscard]] bool failed() const {
    return failed_.load(std::memory_order_acquire);  // pairs with the release of those that set it
  }
  /// Leaves the error of a task, by which the scope fails, unless it has failed. Before the task
  /// counts as finished; see Scheduler::leave_error().
  void leave_error(std::string task_name, std::exception_ptr error) noexcept;
  /// Returns the error that was left, until it is taken up.
  [[nodiscard]] std::optional<LeftError> left_error() const;
  /// Returns whether the caller is to take up the error that was left: true for one caller, which
  /// then calls end_taking_error().
  [[nodiscard]] bool begin_taking_error();
  void end_taking_error();
  /// Number of errors left in the scopes of this rank that were not taken up. Read after the
  /// counts: a task that counts as finished has left its error before.
  [[nodiscard]] int left_errors() const {
    return outermost_.left_errors_.load(std::memory_order_acquire);
  }
  /// The failure as its waiters get it; nullptr without one.
  [[nodiscard]] std::exception_ptr failure_error() const;
  /// Marks the scope as failed, with the failure that its waiters get from now on.
  void mark_failed(std::exception_ptr failure);

  // --- waits of the main function in wait_for(), which is not counted as a task. Any thread, in
  // any order: it may be woken before it is known to be parked.

  void main_parks() {
    main_parks_.fetch_add(1, std::memory_order_release);
    main_waits_.fetch_add(1, std::memory_order_release);
  }
  /// Before the task that wakes it counts as finished.
  void main_goes_on() { main_waits_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool is_main_parked() const {
    return main_waits_.load(std::memory_order_acquire) > 0;
  }
  /// Number of its waits so far. Read after is_main_parked().
  [[nodiscard]] std::uint64_t main_parks_so_far() const {
    return main_parks_.load(std::memory_order_acquire);
  }
  /// Sets the error that the main function throws, whose wait is cancelled next.
  void set_main_error(std::exception_ptr error);
  /// Throws that error.
  [[noreturn]] void throw_to_main() const;

  // --- threads of the program, whose Hold counts as a task, except in wait_for(); see HeldThread

  void thread_parks(Scheduler& scheduler);
  /// Called by its waker.
  void thread_goes_on(Scheduler& scheduler);
  /// Number of Holds that count. Raised after each counts as a created task, so it may be too
  /// small.
  [[nodiscard]] int holds() const { return holds_.load(std::memory_order_acquire); }
  /// Returns when threads that count as finished have done with the scheduler.
  void await_parking_threads() const { const sync::Lock lock(holds_mutex_); }

 private:
  enum class Left : std::uint8_t { nothing, error, taken };
  void publish_ends() const;

  TaskScope* const outer_;
  TaskScope& outermost_;
  const std::uint64_t number_;
  const Rank rank_;
  std::atomic<std::uint64_t> parked_tasks_{0};
  std::atomic<bool> failed_{false};
  std::atomic<Left> left_{Left::nothing};
  std::atomic<int> left_errors_{0};  // of all scopes of the rank: the outermost one's
  mutable sync::Mutex failure_mutex_;
  LeftError left_error_ SHOAL_GUARDED_BY(failure_mutex_);
  std::exception_ptr failure_ SHOAL_GUARDED_BY(failure_mutex_);     // as the team has recorded it
  std::exception_ptr main_error_ SHOAL_GUARDED_BY(failure_mutex_);  // see set_main_error()
  std::atomic<std::uint64_t> main_parks_{0};
  std::atomic<int> main_waits_{0};
  std::atomic<int> holds_{0};
  mutable sync::Mutex holds_mutex_;
};

}  // namespace shoal::sched
