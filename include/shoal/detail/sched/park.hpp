#pragma once
// Parking of a task until something happens, so that reports can name what it waits for.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sched/timers.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/waiter.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>

namespace shoal::sched {

/// Cancellation of a wait: never, since its event comes even when the world fails; by a failure of
/// the world or team, and when the task's TaskGroup is cancelled; or not by the latter, because the
/// wait is part of an operation of a team, whose other members need this one.
enum class Cancellable : std::uint8_t { no, yes, by_team };

/// Object that can be waited for. It has a list of waiters, under a lock.
///
/// The thread that takes a waiter out of the list wakes it, after it has released the lock: the
/// woken task may destroy the list.
class Waitable {
 public:
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;
  /// Adds a waiter to the list; returns false if there is no need to wait. It must wake no waiter,
  /// as the caller holds a lock.
  virtual bool enlist(sync::Waiter& waiter) = 0;
  /// Removes a waiter from the list; returns false if another thread has taken it out, and wakes
  /// it, or if it was not added, as the world had failed before.
  virtual bool withdraw(sync::Waiter& waiter) = 0;
  /// Text for reports: "get() of a future". Any thread, while a task waits.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Text for traces, which keep each different text: describe() without running numbers.
  [[nodiscard]] virtual std::string trace_text() const { return describe(); }
  /// Returns the task that holds the lock, if this is one.
  [[nodiscard]] virtual const Task* holder() const { return nullptr; }
  /// Returns whether time will wake the waiters, which then count as running. Called once, when a
  /// task begins to wait.
  [[nodiscard]] virtual bool ends_by_itself() const { return false; }
  /// Returns the deadline of a wait that ends by itself, by the clock of the rank; 0: it has none.
  /// Called once, when a task begins to wait.
  [[nodiscard]] virtual std::uint64_t due_ns() const { return 0; }
  /// Returns what cancels waiters. Called once, when a task begins to wait.
  [[nodiscard]] virtual Cancellable cancellable() const { return Cancellable::yes; }
  /// Returns the scope of a team whose failure ends the wait of tasks outside of it, too, since
  /// nothing of it comes then; nullptr: there is none. Such a wait is within
  /// TeamCore::wait_for_part(). Called once, when a task begins to wait.
  [[nodiscard]] virtual const TaskScope* ending_scope() const { return nullptr; }

  /// Returns whether there is certainly nothing to wait for; once true, it stays so. Called by the
  /// task that would wait, to spare it the wait.
  [[nodiscard]] virtual bool is_over() const { return false; }
  /// Returns whether the wait cannot end before `task`, which has not begun, has run. Called by the
  /// task that would wait.
  [[nodiscard]] virtual bool needs(const Task& /*task*/) const { return false; }

  /// Number, in traces, of the things that have to end before, or of the one that has ended it;
  /// 0: it is one that has not ended, or not recorded.
  [[nodiscard]] virtual std::uint64_t join() const { return 0; }

  /// Scheduler that keeps track of the waiters.
  [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }
  /// Throws the error that wait_for() would throw for this caller, for calls that need not always
  /// wait.
  void check_may_wait() const;

 protected:
  explicit Waitable(Scheduler& scheduler) : scheduler_(scheduler) {}
  ~Waitable() = default;
  /// Waits for this, see wait_for().
  void wait_here();
  /// Waits for this, at most until `due_ns` by the clock of the rank. Returns false if that time
  /// came first: the waiter is not in the list any more, and nothing was given to it. The caller
  /// counts as running. **Errors**: as wait_for().
  [[nodiscard]] bool wait_here_until(std::uint64_t due_ns);
  /// Returns whether this time has come, for a caller that has just looked, and counts as a poll.
  [[nodiscard]] bool has_come(std::uint64_t due_ns) const;

 private:
  Scheduler& scheduler_;
};

/// Wait for an object that goes on when the group of the task is cancelled.
class WaitBeyondGroup final : public Waitable {
 public:
  explicit WaitBeyondGroup(Waitable& what) : Waitable(what.scheduler()), what_(what) {}

  /// **Errors**: as wait_for().
  void wait() {
    if (!is_over()) wait_here();
  }
  bool enlist(sync::Waiter& waiter) override { return what_.enlist(waiter); }
  bool withdraw(sync::Waiter& waiter) override { return what_.withdraw(waiter); }
  [[nodiscard]] std::string describe() const override { return what_.describe(); }
  [[nodiscard]] std::string trace_text() const override { return what_.trace_text(); }
  [[nodiscard]] const Task* holder() const override { return what_.holder(); }
  [[nodiscard]] bool is_over() const override { return what_.is_over(); }
  [[nodiscard]] bool needs(const Task& task) const override { return what_.needs(task); }
  [[nodiscard]] std::uint64_t join() const override { return what_.join(); }
  [[nodiscard]] Cancellable cancellable() const override { return Cancellable::by_team; }

 private:
  Waitable& what_;
};

/// A Waitable with one lock and one list.
class WaitingRoom : public Waitable {
 public:
  bool withdraw(sync::Waiter& waiter) override {
    const sync::Lock lock(mutex_);
    return waiters_.remove(waiter);
  }

 protected:
  using Waitable::Waitable;
  ~WaitingRoom() = default;

  mutable sync::Mutex mutex_;
  sync::WaiterList waiters_ SHOAL_GUARDED_BY(mutex_);
};

/// Waits until woken. A task's stack is parked, and any worker of the rank continues it, unless the
/// task is bound; a thread of the program sleeps.
///
/// To completion detection, a task that is parked has finished, and waking it creates one: when
/// nothing is left that could wake it, StuckError names it (docs/design/events.md).
///
/// If the next task of its worker is needed to end the wait, it runs on the caller's stack, as long
/// as little of that is in use; then neither is parked. Should it park itself, the caller goes on,
/// with a failure of the world too, only after it. **Caller**: a task, the main function, a thread
/// of the program (see HeldThread); not a handler. **Errors**: CheckError in a handler;
/// CancelledError when the world has failed, in the main function TaskError, and when the TaskGroup
/// of the task was cancelled; StuckError in the main function when nothing is left that could wake
/// it.
void wait_for(Waitable& what);

/// For a caller that will wait otherwise: handles messages on its stack until is_over(), as long as
/// messages come, and for a few microseconds without one. False: it is not over, or the worker has
/// something to run; then the caller waits, or calls tell_goes_on(). Outside of the workers of
/// `scheduler`, and in handlers, it does nothing.
[[nodiscard]] bool poll_until(const Scheduler& scheduler, FunctionRef<bool()> is_over);

inline void Waitable::wait_here() { wait_for(*this); }

/// Makes a Hold of `scope` count like a task that the calling thread of the program runs: as
/// finished while the thread is in wait_for(), and created again by its waker. So an endless wait
/// of the thread is found, and named, as that of a task is. Reports call the thread `name`.
/// **Caller**: a thread that is no worker, one object at a time on each. **Lifetime**: within the
/// Hold's.
class HeldThread {
 public:
  HeldThread(TaskScope& scope, const char* name);
  ~HeldThread();
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;

  [[nodiscard]] TaskScope& scope() const { return scope_; }
  [[nodiscard]] const char* name() const { return name_; }

 private:
  TaskScope& scope_;
  const char* const name_;
};

/// Returns the time of the rank's clock at which a wait of `delay` that begins now is over.
template <Duration D>
std::uint64_t due_ns(const Scheduler& scheduler, D delay) {
  return Timers::due_ns(scheduler.env().now_ns(), to_ns(delay));
}
/// Returns the time of the rank's clock for a time of Team::now_ns(), or for one of another clock,
/// which tells how much time is left. A time before the first one, or a negative one, has come.
template <Deadline D>
std::uint64_t due_ns(const Scheduler& scheduler, D time) {
  if constexpr (std::integral<D>) {
    const std::uint64_t due_ns = time > D{0} ? static_cast<std::uint64_t>(time) : 0;
    return due_ns < Timers::kLast_ns ? due_ns : Timers::kLast_ns;
  } else {
    return Timers::due_ns(scheduler.env().now_ns(), ns_until(time));
  }
}

/// Called in the main function: if the world has failed, waits until everything has ended, because
/// tasks may use objects on the stack that will unwind, and throws the failure. Otherwise it does
/// nothing.
void tell_main_of_failure(Scheduler& scheduler);

/// Submits `task` when `what` wakes it, or at once if there is nothing to wait for. Until then the
/// task is not counted (unless `what` ends by itself), StuckError names it when nothing is left
/// that could wake it, and it is dropped when its scope fails. `what` must exist until then: let
/// the task own it. **Caller**: any thread. **Blocks**: never.
void submit_after(Waitable& what, std::unique_ptr<Task> task);
/// Destroys the task of a waiter that submit_after() made, instead of waking it. **Caller**: the
/// thread that has taken the waiter out of the list of its Waitable.
void drop_deferred(sync::Waiter& waiter);

/// Lets other tasks run, see shoal::yield().
void yield();
/// Lets others run, as yield() does, in a task between two calls of functions that the program may
/// have repeated without end: timers pass, virtual time goes on, and ready tasks come first. `what`
/// names it. To go on is progress. In a handler it does nothing. **Errors**: none; the caller asks
/// whether it is still wanted.
void give_turn(const char* what);

/// The rank on which a lock or a promise is made, given by a team there.
class OnRank {
 public:
  // NOLINTBEGIN(google-explicit-constructor): an argument of constructors, which are explicit
  template <class Place>
    requires requires(const Place& place) {
      { place.scheduler() } -> std::same_as<Scheduler&>;
    }
  OnRank(const Place& place) : scheduler_(place.scheduler()) {}
  OnRank(Scheduler& scheduler) : scheduler_(scheduler) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }

 private:
  Scheduler& scheduler_;
};

/// Returns the scheduler of the caller's rank. **Errors**: CheckError, naming `what` and `remedy`,
/// on a thread that is no worker.
[[nodiscard]] Scheduler& current_scheduler(
    const char* what, const char* remedy = "give it the world, and use it during the run");
constexpr const char* kUseInTask =
    "use it in a task or a main function, during the run; a thread that has a Runtime does so in "
    "a task, runtime.async([&] { ... }).get()";
/// Returns the scope in which tasks that the caller makes on `scheduler` are counted: that of the
/// running task, else the world. Handlers name the scope of their team themselves.
[[nodiscard]] TaskScope& current_scope(Scheduler& scheduler);
/// Returns the task that the calling thread runs, or nullptr, also in a handler. The main function
/// is a task.
[[nodiscard]] Task* current_task();

/// Tells each TaskLocal of the running task, if there is one, that it is about to be parked, and
/// that it continues.
void tell_parks();
void tell_goes_on();

}  // namespace shoal::sched
