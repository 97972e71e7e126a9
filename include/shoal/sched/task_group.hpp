#pragma once
// Tasks that end before their group does.

#include <shoal/sched/function_task.hpp>
#include <shoal/sched/locks.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace shoal {

/// Structured concurrency: the tasks of a group have ended before wait() returns and before the
/// group is destroyed. The first exception of one cancels the group and is thrown by wait(); it
/// does not fail the world, unless nobody calls wait(). Groups nest: cancelling one cancels those
/// that its tasks make.
///
/// **Caller**: a task or the main function makes it, waits for it and destroys it; its tasks may
/// spawn more into it.
class TaskGroup {
 public:
  explicit TaskGroup(std::string name = "a task group");
  /// Waits. An exception that nobody has heard of fails the world.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Runs f() as a task of this rank; not at all if the group is cancelled before it begins.
  template <class F>
  void spawn(F f, std::string name = "a task of a group") {
    auto run = [this, f = std::move(f)]() mutable { run_one([&f] { f(); }); };
    submit(std::make_unique<GroupTask<decltype(run)>>(*this, std::move(run), std::move(name)));
  }

  /// Returns when all tasks of the group have ended; parks the caller. Throws the first exception.
  /// **Errors**: CheckError in a task of the group or of one that nests in it, which would wait for
  /// itself (such a task must not destroy the group either); when the world has failed,
  /// CancelledError, in the main function TaskError or StuckError once everything has ended.
  void wait();
  /// Asks the tasks to end soon: those that have not begun do not run, the others may look at
  /// is_cancelled(). Any thread.
  void cancel() { cancelled_.store(true, std::memory_order_release); }
  /// Any thread.
  [[nodiscard]] bool is_cancelled() const;

 private:
  friend bool is_cancelled();
  class Membership;
  class Children;
  template <class F>
  class GroupTask final : public sched::Task {
   public:
    GroupTask(TaskGroup& group, F run, std::string name)
        : end_(group), run_(std::move(run)), name_(std::move(name)) {}
    void run() override { run_(); }
    [[nodiscard]] std::string name() const override { return name_; }

   private:
    // Made first and destroyed last, also of a task that could not be made, or was dropped because
    // the world has failed.
    struct End {
      explicit End(TaskGroup& of) : group(of) { group.begin_one(); }
      ~End() { group.end_one(); }
      End(const End&) = delete;
      End& operator=(const End&) = delete;
      TaskGroup& group;
    };
    const End end_;
    F run_;
    const std::string name_;
  };

  void join();
  void begin_one();
  void submit(std::unique_ptr<sched::Task> task);
  template <class F>
  void run_one(F f) {
    if (is_cancelled()) return;
    try {
      f();
    } catch (...) {
      keep(std::current_exception());
    }
  }
  void keep(std::exception_ptr error);
  void end_one();
  [[nodiscard]] std::exception_ptr take_error();

  sched::Scheduler& scheduler_;
  const std::string name_;
  TaskGroup* const outer_;         // whose task made this one, or nullptr
  std::shared_ptr<Counter> open_;  // tasks, and one for the group itself until it is joined
  bool joins_ = false;             // that one has been counted down
  std::atomic<bool> cancelled_{false};
  sync::Mutex mutex_;
  std::exception_ptr error_ SHOAL_GUARDED_BY(mutex_);
};

/// The calling task belongs to a group that was cancelled. False outside of groups.
[[nodiscard]] bool is_cancelled();

}  // namespace shoal
