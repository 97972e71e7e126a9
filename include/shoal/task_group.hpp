#pragma once
// Tasks that end before their group does.

#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/task_options.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace shoal::sched {

class ParkedList;
}

namespace shoal {

/// Structured concurrency: the tasks of a group have ended before wait() returns and before the
/// group is destroyed. The first exception of one cancels the group and is thrown by wait(); it
/// does not fail the world, unless wait() is never called. Groups nest: cancelling one cancels
/// those that its tasks make. A group may be used again after wait(), also after an error or
/// cancel(): the next spawn() begins anew. See also Deadline.
///
/// **Caller**: a task or the main function makes it, waits for it and destroys it; its tasks, and
/// any thread, may spawn more into it. **Errors**: CheckError for a call after the run has ended.
/// **Lifetime**: a group that a task of another group makes ends before that task's group does.
class TaskGroup {
 public:
  /// A group of the rank of the caller; `name` is used in reports.
  explicit TaskGroup(std::string name = "a task group");
  /// Waits for the tasks of the group. **Blocks**: parks the caller. **Errors**: an exception that
  /// wait() has not thrown fails the world.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Runs f() as a task of the group on this rank; f() is not called if the group is cancelled
  /// before the task begins. **Blocks**: never.
  template <class F>
  void spawn(F f) {
    submit(std::unique_ptr<sched::Task>(new GroupTask<F>(*this, std::move(f))));
  }
  /// Runs f() as a task of the group on this rank, with a name for reports; f() is not called if
  /// the group is cancelled before the task begins. **Blocks**: never.
  template <class F, std::convertible_to<std::string> Name>
  void spawn(F f, Name&& name) {
    submit(std::unique_ptr<sched::Task>(
        new sched::Named<GroupTask<F>>(std::forward<Name>(name), *this, std::move(f))));
  }
  /// Runs f() as a task of the group on this rank, with options; f() is not called, or not called
  /// again, once the group is cancelled. **Blocks**: never. **Errors**: CheckError for a worker
  /// that does not exist, a bound task without one, and a function that cannot be tried again.
  template <class F>
  void spawn(F f, const TaskOptions& options) {
    if (options.retries == 0) {
      submit(std::unique_ptr<sched::Task>(
                 new sched::Named<GroupTask<F>>(options.name, *this, std::move(f))),
             options);
    } else {
      using Each = sched::Retried<F>;
      submit(std::unique_ptr<sched::Task>(new sched::Named<GroupTask<Each>>(
                 options.name, *this, Each(std::move(f), options.retries, options.name))),
             options);
    }
  }

  /// @cond internals
  /// Runs f() as a task of the group on this rank, with a name and a priority.
  template <class F>
  void spawn(F f, const std::string& name, int priority) {
    std::unique_ptr<sched::Task> task(new sched::Named<GroupTask<F>>(name, *this, std::move(f)));
    task->priority = priority;
    submit(std::move(task));
  }
  /// @endcond

  /// Returns when all tasks of the group have ended; parks the caller. Throws the first exception.
  /// **Errors**: CheckError in a task of the group or of one that nests in it, which would wait for
  /// itself (such a task must not destroy the group either); when the world has failed,
  /// CancelledError, in the main function TaskError or StuckError once everything has ended.
  void wait();
  /// Ends the tasks soon: those that have not begun do not run; those that wait, now or later, get
  /// CancelledError there, which the group drops; the others may look at is_cancelled(). A wait
  /// goes on that is part of an operation of a team, which Team::cancel() ends, and one for the
  /// tasks of a nested group or for the iterations of a loop, which end soon themselves. It holds
  /// for what is spawned until the next wait() has returned. **Caller**: any thread. **Blocks**:
  /// never. **Cost**: a look at each parked task of the rank. **Lifetime**: it returns before the
  /// group is destroyed.
  void cancel();
  /// Whether the tasks are to end; after wait(), whether those were. Any thread.
  [[nodiscard]] bool is_cancelled() const;

 private:
  /// `past`: what has ended was; the next spawn() ends that, unless cancel() comes first.
  enum class Cancelled : std::uint8_t { no, yes, past };

  friend bool is_cancelled();
  friend class sched::ParkedList;
  friend class Deadline;

  /// Tasks that have not ended, and one more for the group itself until it is joined. When the
  /// world fails, the tasks end by themselves, and the group must outlive them.
  class Children final : public sched::WaitingRoom {
   public:
    explicit Children(TaskGroup& group) : WaitingRoom(group.scheduler_), group_(group) {}
    /// Counts one more task. **Precondition**: the count is not zero.
    void begin_one() { open_.fetch_add(1, std::memory_order_relaxed); }
    void end_one() {
      // release: the writes of the task come before the end of the wait
      std::int64_t open = open_.load(std::memory_order_relaxed);
      while (open > 1) {
        if (open_.compare_exchange_weak(open, open - 1, std::memory_order_release)) return;
      }
      end_last();
    }
    void wait();
    /// No task but the caller's has begun that has not ended. **Caller**: a task of the group.
    [[nodiscard]] bool has_one() const { return open_.load(std::memory_order_relaxed) == 1; }
    /// Begins anew. **Precondition**: no waiter and no task.
    void reset() { open_.store(1, std::memory_order_relaxed); }

    bool enlist(sync::Waiter& waiter) override;
    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] sched::Cancellable cancellable() const override { return sched::Cancellable::no; }
    [[nodiscard]] bool is_over() const override;
    [[nodiscard]] bool needs(const sched::Task& task) const override {
      return task.group == &group_;
    }

   private:
    void end_last();
    TaskGroup& group_;
    // Reaches zero under the lock: a thread that reads zero and then takes the lock is alone here.
    std::atomic<std::int64_t> open_{1};
  };

  template <class F>
  class GroupTask : public sched::Task {
   public:
    GroupTask(TaskGroup& of, F f) : end_(of), f_(std::move(f)) { group = &of; }
    void run() override {
      end_.group.run_one([this] { f_(); });
    }
    [[nodiscard]] std::string name() const override { return "a task of a group"; }

   private:
    // Made first and destroyed last, also of a task that could not be made, or was dropped because
    // the world has failed.
    struct End {
      explicit End(TaskGroup& of) : group(of) { group.children_.begin_one(); }
      ~End() { group.children_.end_one(); }
      End(const End&) = delete;
      End& operator=(const End&) = delete;
      TaskGroup& group;
    };
    const End end_;
    F f_;
  };
  static TaskGroup* current();
  /// Returns whether `other` is this group, or nests in it.
  [[nodiscard]] bool holds(const TaskGroup* other) const;
  /// Returns whether it was not.
  bool set_cancelled();
  [[nodiscard]] bool inherits_cancel() const;
  void join();
  void begin_anew();
  void submit(std::unique_ptr<sched::Task> task);
  void submit(std::unique_ptr<sched::Task> task, const TaskOptions& options);
  template <class F>
  void run_one(F f) {
    if (is_cancelled()) return;
    try {
      f();
    } catch (...) {
      keep(sched::caught_exception());
    }
  }
  class Use;
  void keep(std::exception_ptr error);
  [[nodiscard]] std::exception_ptr take_error();

  sched::Scheduler& scheduler_;
  sched::TaskScope& scope_;  // of the task that made it
  const std::string name_;
  TaskGroup* const outer_;  // whose task made this one, or nullptr
  TaskGroup& outermost_;    // of those that it nests in
  const int depth_;         // how many those are
  Children children_;
  bool joins_ = false;  // the group itself has been counted down
  mutable std::atomic<Cancelled> cancelled_{Cancelled::no};  // or known to nest in one that is
  // Number of cancellations in a whole nest of groups. Counted in the outermost one.
  std::atomic<std::uint64_t> cancels_{0};
  // At this count, neither this group nor one that it nests in was cancelled.
  mutable std::atomic<std::uint64_t> clear_at_{0};
  sync::Mutex mutex_;
  std::exception_ptr error_ SHOAL_GUARDED_BY(mutex_);
};

/// The calling task belongs to a group that was cancelled. False outside of groups.
[[nodiscard]] bool is_cancelled();

}  // namespace shoal
