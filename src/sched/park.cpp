#include <shoal/detail/sched/park.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/dependencies.hpp>
#include <shoal/detail/trace/probes.hpp>
#include <shoal/task_group.hpp>

#include "sched/live.hpp"
#include "sched/traced.hpp"
#include "sched/worker.hpp"

#include <fmt/format.h>

#include <optional>

namespace shoal::sched {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of one thread
thread_local const HeldThread* t_held_thread = nullptr;

}  // namespace

HeldThread::HeldThread(TaskScope& scope, const char* name) : scope_(scope), name_(name) {
  SHOAL_CHECK(current_worker() == nullptr && t_held_thread == nullptr,
              "a thread counts as one task at most, and a worker's as none");
  t_held_thread = this;
}

HeldThread::~HeldThread() { t_held_thread = nullptr; }

std::string current_activity() {
  if (in_handler() && current_worker()->activity.attempt == nullptr) {
    const std::string* const name = current_worker()->activity.running_handler.shown();
    return name == nullptr ? "a handler" : *name;
  }
  if (const Task* task = current_task(); task != nullptr) return task->name();
  return t_held_thread != nullptr ? t_held_thread->name() : "";
}

// The handler's name is missing where it is code of the program that a model calls: a comparison,
// say.
void refuse_in_handler(std::string_view call) {
  const Worker& worker = *current_worker();
  if (worker.activity.attempt != nullptr) worker.activity.attempt->refuse(call);
  const std::string* const name = worker.activity.running_handler.shown();
  throw CheckError(fmt::format(
      "{} was called in {} on rank {}: a handler must not wait, wherever the target is. Deliver "
      "the message as a task (Delivery::task), or go on in then(), or in a task that it spawns",
      call, name == nullptr ? "a handler" : fmt::format("handler '{}'", *name),
      worker.scheduler().rank().value()));
}

void check_thread(Scheduler& scheduler, const char* what) {
  SHOAL_CHECK(on_worker() || !scheduler.env().is_simulated(),
              "{} on a thread of the program, on rank {}: a simulated world runs all ranks in one "
              "thread, and others must not call into it. Do its work in a task, or run without "
              "--sim",
              what, scheduler.rank().value());
}

namespace {

void check_wait(const Worker& worker, const Waitable& what) {
  if (worker.activity.handler_depth > 0) refuse_in_handler(what.describe());
  if (&worker.scheduler() == &what.scheduler()) return;
  const ForeignUse use(what.scheduler());
  if (!use) check_live(what.scheduler(), what.describe());
  SHOAL_CHECK(false,
              "{} belongs to another rank: it was made on rank {}, and called on rank {}; use it "
              "where it was made",
              what.describe(), what.scheduler().rank().value(), worker.scheduler().rank().value());
}

/// Waiter of a thread of the program, which only its Hold counts.
class ThreadWaiter final : public ParkedWaiter {
 public:
  ThreadWaiter(env::Env& env, Waitable* for_what) : parker_(env.make_parker()) {
    since_ns = env.now_ns();
    if (for_what == nullptr) return;
    stand_in(*for_what);
    if (t_held_thread == nullptr || &t_held_thread->scope() != &for_what->scheduler().scope())
      return;
    thread_name = t_held_thread->name();
    if (ends_by_itself) return;
    scope_ = &t_held_thread->scope();
    scheduler_ = &for_what->scheduler();
    counted = false;
  }
  void go_on(bool /*tell_scope*/) override {
    if (scope_ != nullptr) scope_->thread_goes_on(*scheduler_);
    parker_->unpark();
  }
  /// Waits in a list.
  void wait() {
    if (scope_ != nullptr) scope_->thread_parks(*scheduler_);
    parker_->park(0);
  }

 private:
  TaskScope* scope_ = nullptr;  // where its Hold counts as its task
  Scheduler* scheduler_ = nullptr;
  std::unique_ptr<env::Parker> parker_;
};

}  // namespace

void block(env::Env& env, const char* what, const Publish& publish) {
  check_may_wait(what);
  if (Worker* worker = current_worker(); worker != nullptr) {
    suspend(*worker, what, publish);
    return;
  }
  ThreadWaiter waiter(env, nullptr);
  if (publish(waiter)) waiter.wait();
}

void Waitable::check_may_wait() const {
  const Worker* const worker = current_worker();
  if (worker != nullptr) check_wait(*worker, *this);
}

void tell_parks() {
  if (const Task* const task = current_task(); task != nullptr) task->tell_parks();
}

void tell_goes_on() {
  if (const Task* const task = current_task(); task != nullptr) task->tell_goes_on();
}

bool poll_until(const Scheduler& scheduler, FunctionRef<bool()> is_over) {
  const Worker* const worker = current_worker();
  if (worker == nullptr || worker->queues.deque.size_hint() > 0) return false;
  if (&worker->scheduler() != &scheduler || worker->activity.handler_depth > 0) return false;
  const Task& task = *worker->fibers.task();
  task.tell_parks();
  if (!current_worker()->poll_until(is_over)) return false;
  task.tell_goes_on();
  return true;
}

namespace {

[[noreturn]] void throw_ended(const Waitable& what) {
  throw CancelledError(what.describe() + ": its team has failed");
}

}  // namespace

void wait_for(Waitable& what) {
  Scheduler& scheduler = what.scheduler();
  if (Worker* worker = current_worker(); worker != nullptr) {
    check_wait(*worker, what);
    const Task& task = *worker->fibers.task();
    task.tell_parks();
    worker = current_worker();  // they may have waited themselves
    while (run_nested(*worker, what)) {
      if (what.is_over()) return task.tell_goes_on();
      worker = current_worker();
    }
    const bool notified_by_scope = task.is_main() && !what.ends_by_itself();
    if (notified_by_scope) worker->fibers.task()->before_parking();
    const WaitEnd end = park(*worker, what);
    task.tell_goes_on();
    if (end == WaitEnd::over) return;
    if (end == WaitEnd::ended) throw_ended(what);
    if (notified_by_scope) scheduler.scope().throw_to_main();
    if (task.group != nullptr && !task.scope->failed())
      throw CancelledError(what.describe() + ": the task group was cancelled");
    tell_main_of_failure(scheduler);
  } else {
    const ForeignUse use(scheduler);
    if (what.is_over()) return;  // perhaps by the end of the run
    if (!use) check_live(scheduler, what.describe());
    ThreadWaiter waiter(scheduler.env(), &what);
    ParkedList& list = scheduler.waiting().list(scheduler.worker_count());
    if (list.enlist(waiter, &scheduler.scope())) waiter.wait();
    list.remove(waiter);
    if (!waiter.cancelled) return;
    if (waiter.ended) throw_ended(what);
    if (!scheduler.scope().failed()) {
      throw CancelledError(what.describe() + ": the run has ended, and nothing ends the wait");
    }
  }
  throw CancelledError(what.describe() + ": the world has failed");
}

namespace {

/// Wait of the main function from which only its scope removes it.
class AllEnded final : public WaitingRoom {
 public:
  explicit AllEnded(Scheduler& scheduler) : WaitingRoom(scheduler) {}
  bool enlist(sync::Waiter& waiter) override {
    const sync::Lock lock(mutex_);
    waiters_.push(waiter);
    return true;
  }
  [[nodiscard]] std::string describe() const override { return "the end of a world that failed"; }
};

}  // namespace

void tell_main_of_failure(Scheduler& scheduler) {
  if (!in_main_function() || !scheduler.scope().failed()) return;
  AllEnded ended(scheduler);
  tell_parks();  // tasks that end may wait for what it has
  static_cast<void>(park(*current_worker(), ended));
  tell_goes_on();
  scheduler.scope().throw_to_main();
}

namespace {

/// Waiter that submits a task when it is woken. Owns itself.
class Deferred final : public ParkedWaiter {
 public:
  Deferred(Waitable& for_what, std::unique_ptr<Task> owned)
      : scheduler_(for_what.scheduler()),
        list_(scheduler_.waiting().list(scheduler_.count_slot())),
        task_(std::move(owned)) {
    task = task_.get();
    sync::publish(task);  // time may be what wakes it
    if (const Task* const submitter = current_task(); submitter != nullptr)
      submitter->tell_submits(*task_);
    stand_in(for_what);
    since_ns = scheduler_.env().now_ns();
    counted = ends_by_itself;
    has_begun = false;
  }

  void start(const Waitable& what) {
    if (trace::on<trace::Category::task>()) {
      traced::created(*task_);
      record_joined(*task_, what.join());
    }
    // As the task that it becomes: were it counted apart, a thread that is no worker would have to
    // count its end, behind the worker that it wakes.
    if (counted) task->scope->counts.task_created(scheduler_.count_slot());
    // Once it is enlisted it may be gone.
    if (!list_.enlist(*this, task->scope)) go_on(false);
  }
  void go_on(bool /*tell_scope*/) override {
    const std::unique_ptr<Deferred> self(this);
    list_.remove(*this);
    if (counted) {
      scheduler_.submit_counted(std::move(task_));
    } else {
      scheduler_.submit(std::move(task_));
    }
  }
  void drop() {
    const std::unique_ptr<Deferred> self(this);
    list_.remove(*this);
    sync::observe(task);
    if (!counted) return;
    // Counts like a Hold, so that the scope cannot end before this code has finished with it.
    TaskScope& scope = *task->scope;
    scope.thread_goes_on(scheduler_);
    task_.reset();
    scope.counts.task_finished(scheduler_.count_slot());
    scope.thread_parks(scheduler_);
  }

 private:
  Scheduler& scheduler_;
  ParkedList& list_;
  std::unique_ptr<Task> task_;
};

}  // namespace

void submit_after(Waitable& what, std::unique_ptr<Task> task) {
  const Worker* const worker = current_worker();
  std::optional<ForeignUse> use;
  if (worker == nullptr || &worker->scheduler() != &what.scheduler()) [[unlikely]] {
    if (!use.emplace(what.scheduler())) check_live(what.scheduler(), "a future");
  }
  if (worker != nullptr && worker->activity.attempt != nullptr) [[unlikely]] {
    return worker->activity.attempt->withhold(
        [&what, task = std::move(task)]() mutable { submit_after(what, std::move(task)); });
  }
  auto* const deferred = new Deferred(what, std::move(task));
  deferred->start(what);
}

void drop_deferred(sync::Waiter& waiter) { static_cast<Deferred&>(waiter).drop(); }

namespace {

/// Parks what runs and wakes it at once: others have their turn first. `task`: that one, if any.
void go_behind(Worker& worker, const Task* task, const char* what, Turn turn) {
  if (task != nullptr) task->tell_parks();
  suspend(
      worker, what,
      [](sync::Waiter& waiter) {
        waiter.wake();
        return true;
      },
      turn);
  if (task != nullptr) task->tell_goes_on();
}

}  // namespace

void yield() {
  Worker* const worker = current_worker();
  SHOAL_CHECK(worker != nullptr,
              "yield() was called on a thread outside the workers: only tasks and main functions "
              "may call it");
  check_may_wait("yield()");
  Scheduler& scheduler = worker->scheduler();
  const Task* const task = worker->fibers.task();
  go_behind(*worker, task, "yield()", Turn::poll);
  const TaskScope& scope = task != nullptr && !task->is_main() ? *task->scope : scheduler.scope();
  if (!scope.failed()) return;
  tell_main_of_failure(scheduler);
  throw CancelledError("yield(): the world has failed");
}

void give_turn(const char* what) {
  Worker* const worker = current_worker();
  if (worker == nullptr || in_handler()) return;
  if (const Task* const task = worker->fibers.task(); task != nullptr)
    go_behind(*worker, task, what, Turn::last);
}

}  // namespace shoal::sched
