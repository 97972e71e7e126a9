#pragma once
// A unit of work, and the scope that counts it.

#include <shoal/base/ids.hpp>
#include <shoal/sync/block_pool.hpp>

#include <atomic>
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

class TaskScope;

/// Something that belongs to one task, and ends with it.
class TaskLocal {
 public:
  virtual ~TaskLocal() = default;
  /// Called on the task's stack before it is parked in wait_for(), yield() or an operation of all
  /// members of a team. Must not throw.
  virtual void parks() {}
  /// Called on the task's stack when it continues. May wait itself. Must not throw.
  virtual void goes_on() {}

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

/// Runs once, on one worker. Owned by the scheduler from submit() on. Tasks come and go by the
/// million.
class Task : public sync::Pooled {
 public:
  static constexpr int kAnyWorker = -1;

  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual void run() = 0;
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

  TaskScope* scope = nullptr;        // counts it; nullptr: is_main()
  int priority = 0;                  // larger first, among the ready tasks of one worker
  std::int16_t worker = kAnyWorker;  // where it is queued at first
  bool bound = false;                // true: only `worker` may run it
  TaskKind kind = TaskKind::local;
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
  /// Notifies its TaskLocals. **Caller**: the task.
  void tell_parks() const {
    for (TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) one->parks();
  }
  void tell_goes_on() const {
    for (TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) one->goes_on();
  }

 protected:
  Task() = default;

 private:
  std::unique_ptr<TaskLocal, TaskLocal::End> local_;
};

/// A set of ranks whose tasks and messages are counted together; this is one rank's share.
///
/// Counters are kept per worker (one writer each) and summed by detection only.
class TaskScope {
 public:
  struct Totals {
    std::uint64_t created = 0;  // tasks
    std::uint64_t finished = 0;
    std::uint64_t queued = 0;  // messages
    std::uint64_t processed = 0;
    bool operator==(const Totals&) const = default;
  };

  /// `outer`: the scope that this one is nested in; it lives longer.
  explicit TaskScope(int worker_count, TaskScope* outer = nullptr);
  virtual ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  // Each counts one happening for the calling worker (or the shared slot of foreign threads).
  void count_created(int slot) { add(slots_[index(slot)].created, slot); }
  void count_finished(int slot) { add(slots_[index(slot)].finished, slot); }
  void count_created(WorkerId worker) { add_own(slots_[index(worker.value())].created, 1); }
  void count_finished(WorkerId worker) { add_own(slots_[index(worker.value())].finished, 1); }
  void count_queued(int slot) { add(slots_[index(slot)].queued, slot); }
  void count_processed(int slot, std::uint64_t n = 1) {
    add(slots_[index(slot)].processed, slot, n);
  }

  /// Counts tasks that are parked and not counted meanwhile. Kept for nested scopes only.
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
  /// A task or handler of this rank threw.
  virtual void fail(const std::string& task_name, const std::exception_ptr& error) = 0;
  /// Gives the failure of the scope to the promises that it owes. Called as well when a promise is
  /// made after the failure.
  virtual void give_up_promises() {}

  /// A task or handler of this scope sends a message that counts outside of it. Returns the id
  /// under which its handling is acknowledged; 0: the scope does not wait for that. Any thread.
  virtual std::uint64_t begin_message_outside() { return 0; }

  // The main function waits in wait_for() like a task. It is not counted, so the scope is notified,
  // by any thread and in any order.
  virtual void main_parks() {}
  virtual void main_goes_on() {}
  // A thread of the program, whose Hold counts as its task, waits in wait_for(); see HeldThread.
  virtual void thread_parks() {}
  /// Called by its waker.
  virtual void thread_goes_on() {}
  /// Throws the error of a main function whose wait_for() was cancelled.
  [[noreturn]] virtual void throw_to_main();

  /// The slot of threads that are no workers.
  [[nodiscard]] int foreign_slot() const { return foreign_slot_; }

 protected:
  void mark_failed() { failed_.store(true, std::memory_order_release); }

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
  TaskScope* const outer_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::uint64_t> parked_tasks_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace shoal::sched
