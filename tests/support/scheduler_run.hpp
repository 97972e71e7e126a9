#pragma once
// A scheduler without messages: its workers run on threads while the test submits tasks.

#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/error.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shoal::testing {

/// Nothing ever arrives. Counts how often workers found nothing to do.
class IdleProgress final : public sched::Progress {
 public:
  bool poll(bool /*idle*/) override { return false; }
  [[nodiscard]] bool looks_busy() const override { return false; }
  [[nodiscard]] bool must_poll(WorkerId /*worker*/) const override { return false; }
  bool on_idle() override {
    idle_count_.fetch_add(1);
    idle_count_.notify_all();
    return false;
  }

  [[nodiscard]] std::uint64_t idle_count() const { return idle_count_.load(); }
  /// Returns once a worker was idle after `seen` was read.
  void await_change(std::uint64_t seen) const { idle_count_.wait(seen); }

 private:
  std::atomic<std::uint64_t> idle_count_{0};
};

/// Counts tasks, and has the errors that they threw.
class RecordingScope final : public sched::TaskScope {
 public:
  explicit RecordingScope(int worker_count) : TaskScope(Rank(0), worker_count) {}

  /// Records an error that a task has caught itself, after which others still run.
  void record(const std::exception_ptr& error) {
    const sync::Lock lock(mutex_);
    failures_.push_back(shoal::describe(error));
  }
  /// From now on tasks are dropped.
  void drop_tasks() { mark_failed(nullptr); }

  /// The error that failed the scope, with the name of its task, and those that were recorded.
  [[nodiscard]] std::vector<std::string> failures() const {
    const sync::Lock lock(mutex_);
    std::vector<std::string> failures = failures_;
    if (const auto left = left_error()) {
      failures.push_back(left->task_name + ": " + shoal::describe(left->error));
    }
    return failures;
  }
  [[nodiscard]] bool all_finished() const {
    const Totals now = counts.totals();
    return now.created == now.finished;
  }

 private:
  mutable sync::Mutex mutex_;
  std::vector<std::string> failures_ SHOAL_GUARDED_BY(mutex_);
};

struct TaskSettings {
  int priority = 0;
  int worker = sched::Task::kAnyWorker;
  bool bound = false;
  std::string name = "task";
  sched::TaskKind kind = sched::TaskKind::local;
};

/// A task that calls `function`.
template <class F>
std::unique_ptr<sched::Task> make_task(sched::TaskScope* scope, F function,
                                       const TaskSettings& settings = {}) {
  class FunctionTask final : public sched::Task {
   public:
    FunctionTask(F f, std::string name) : function_(std::move(f)), name_(std::move(name)) {}
    void run() override { function_(); }
    [[nodiscard]] std::string name() const override { return name_; }

   private:
    F function_;
    std::string name_;
  };
  auto task = std::make_unique<FunctionTask>(std::move(function), settings.name);
  task->scope = scope;
  task->priority = settings.priority;
  task->worker = static_cast<std::int16_t>(settings.worker);
  task->bound = settings.bound;
  task->kind = settings.kind;
  return task;
}

inline sched::SchedulerOptions small_stacks(int workers) {
  sched::SchedulerOptions options;
  options.worker_count = workers;
  options.stack_bytes = 128 * 1024;
  return options;
}

/// The parts of a scheduler; nothing drives it.
class SchedulerParts {
 public:
  SchedulerParts(env::Env& env, const sched::SchedulerOptions& options)
      : scheduler_(env, options), scope_(options.worker_count) {
    scheduler_.set_progress(progress_);
    scheduler_.set_scope(scope_);
  }

  [[nodiscard]] sched::Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] RecordingScope& scope() { return scope_; }
  [[nodiscard]] IdleProgress& progress() { return progress_; }
  template <class F>
  void submit(F function, const TaskSettings& settings = {}) {
    scheduler_.submit(make_task(&scope_, std::move(function), settings));
  }

 private:
  IdleProgress progress_;
  sched::Scheduler scheduler_;
  RecordingScope scope_;
};

/// Made before the scheduler that runs in it, and gone after it.
class EnvOwner {
 public:
  explicit EnvOwner(std::unique_ptr<env::Env> env) : env_(std::move(env)) {}
  [[nodiscard]] env::Env& env() { return *env_; }

 private:
  std::unique_ptr<env::Env> env_;
};

/// The same with threads: from the constructor until stop().
class SchedulerRun : public EnvOwner, public SchedulerParts {
 public:
  explicit SchedulerRun(int workers) : SchedulerRun(small_stacks(workers)) {}
  explicit SchedulerRun(const sched::SchedulerOptions& options,
                        std::unique_ptr<env::Env> in = env::make_thread_env())
      : EnvOwner(std::move(in)), SchedulerParts(env(), options) {
    driver_ = std::thread([this] { env().drive(scheduler().steppables()); });
  }
  ~SchedulerRun() { stop(); }
  SchedulerRun(const SchedulerRun&) = delete;
  SchedulerRun& operator=(const SchedulerRun&) = delete;

  /// Returns when every task submitted so far, and what they submitted, has finished.
  void finish() {
    while (true) {
      // The worker that finishes the last task is idle afterwards.
      const std::uint64_t seen = progress().idle_count();
      if (scope().all_finished()) return;
      progress().await_change(seen);
    }
  }
  void stop() {
    scheduler().request_stop();
    if (driver_.joinable()) driver_.join();
  }

 private:
  std::thread driver_;
};

/// Where tasks and threads stand until the test wakes them.
class Parking {
 public:
  explicit Parking(env::Env& env) : env_(env) {}

  /// Blocks the caller until it is woken.
  void stand() {
    sched::block(env_, "stand()", [this](sync::Waiter& waiter) {
      const sync::Lock lock(mutex_);
      waiters_.push_back(&waiter);
      count_.fetch_add(1);
      count_.notify_all();
      return true;
    });
  }
  /// Blocks the calling thread until `count` have come here, ever. Not for tasks.
  void await(int count) const {
    for (int seen = count_.load(); seen < count; seen = count_.load()) count_.wait(seen);
  }
  /// All that stand here now.
  [[nodiscard]] std::vector<sync::Waiter*> take() {
    const sync::Lock lock(mutex_);
    return std::exchange(waiters_, {});
  }
  void wake_all() {
    for (sync::Waiter* waiter : take()) waiter->wake();
  }

 private:
  env::Env& env_;
  std::atomic<int> count_{0};
  sync::Mutex mutex_;
  std::vector<sync::Waiter*> waiters_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::testing
