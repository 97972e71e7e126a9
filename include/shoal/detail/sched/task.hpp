#pragma once
// A unit of work, and the scope that counts it.

#include <shoal/detail/sched/work_counts.hpp>
#include <shoal/detail/sync/block_pool.hpp>

#include <atomic>
#include <bit>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace shoal {
class TaskGroup;
}

namespace shoal::sched {

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
  /// It is about to be parked for long.
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

/// A set of ranks whose tasks and messages are counted together; this is one rank's share.
class TaskScope {
 public:
  using Totals = WorkCounts::Totals;

  /// `outer`: the scope that this one is nested in; it lives longer.
  explicit TaskScope(int worker_count, TaskScope* outer = nullptr);
  virtual ~TaskScope();
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

  /// True once the scope has failed: its tasks are dropped instead of run.
  [[nodiscard]] bool failed() const {
    return failed_.load(std::memory_order_acquire);  // pairs with the release in mark_failed()
  }
  /// "the world", "team 'x'".
  [[nodiscard]] virtual std::string describe() const { return "the world"; }
  /// A task or handler of this rank threw.
  virtual void fail(const std::string& task_name, const std::exception_ptr& error) = 0;
  /// The failure as its waiters get it; nullptr without one.
  [[nodiscard]] virtual std::exception_ptr failure_error() const { return nullptr; }
  /// Gives the failure of the scope to the promises that it owes. Called as well when a promise is
  /// made after the failure.
  virtual void give_up_promises() {}

  /// A task or handler of this scope sends a message that counts outside of it. Returns the id
  /// under which its handling is acknowledged; 0: the scope does not wait for that. Any thread.
  virtual std::uint64_t begin_message_outside() { return 0; }

  // The main function waits in wait_for() like a task. It is not counted, so the scope is notified,
  // by any thread and in any order.
  virtual void main_parks() {}
  /// It is about to poll, and waits only if that does not help.
  virtual void main_polls() {}
  virtual void main_goes_on() {}
  // A thread of the program, whose Hold counts as its task, waits in wait_for(); see HeldThread.
  virtual void thread_parks() {}
  /// Called by its waker.
  virtual void thread_goes_on() {}
  /// Throws the error of a main function whose wait_for() was cancelled.
  [[noreturn]] virtual void throw_to_main();

 protected:
  void mark_failed() { failed_.store(true, std::memory_order_release); }

 private:
  TaskScope* const outer_;
  std::atomic<std::uint64_t> parked_tasks_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace shoal::sched
