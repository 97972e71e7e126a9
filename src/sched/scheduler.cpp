#include <shoal/sched/compute.hpp>
#include <shoal/sched/park.hpp>
#include <shoal/sched/scheduler.hpp>

#include <shoal/base/check.hpp>

#include "sched/worker.hpp"

#include <algorithm>

namespace shoal::sched {

Scheduler::Scheduler(env::Env& env, const SchedulerOptions& options)
    : env_(env),
      options_(options),
      fibers_(std::make_unique<FiberPool>(options, &Worker::enter_loop)) {
  SHOAL_CHECK(options.worker_count >= 1, "a rank needs at least one worker, not {}",
              options.worker_count);
  for (int i = 0; i <= options.worker_count; ++i) {
    parked_.push_back(std::make_unique<ParkedList>());
  }
  for (int i = 0; i < options.worker_count; ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, WorkerId(i)));
  }
}

Scheduler::~Scheduler() = default;

std::vector<env::Steppable*> Scheduler::steppables() {
  std::vector<env::Steppable*> all;
  all.reserve(workers_.size());
  for (const auto& worker : workers_) all.push_back(worker.get());
  return all;
}

void Scheduler::submit(std::unique_ptr<Task> owned) {
  sync::publish(owned.get());
  const sync::Quiet quiet;
  Task* const task = owned.release();
  Worker* const me = current_worker();
  if (me == nullptr || &me->scheduler() != this || !me->would_keep(*task)) {
    place(task);
    return;
  }
  me->keep(task);
  wake_one();
}

void Scheduler::place(Task* task) {
  if (task->scope != nullptr) task->scope->count_created(count_slot());
  enqueue(task);
}

void Scheduler::enqueue(Task* task) {
  Worker* me = current_worker();
  if (me != nullptr && &me->scheduler() != this) me = nullptr;
  int home = task->worker;
  SHOAL_DCHECK(home < worker_count(), "worker {} of {}", home, worker_count());
  if (task->bound) {
    workers_[static_cast<std::size_t>(home)]->bound_own.push(task);
    wake(WorkerId(home));
    return;
  }
  if (home == Task::kAnyWorker) {
    // relaxed: any spread will do
    home = me != nullptr ? me->id().value()
                         : static_cast<int>(next_worker_.fetch_add(1, std::memory_order_relaxed) %
                                            static_cast<unsigned>(worker_count()));
  }
  Worker& target = *workers_[static_cast<std::size_t>(home)];
  if (task->kind == TaskKind::delivered) {
    target.delivered_shared.push(task);
  } else {
    target.ready_shared.push(task);
  }
  wake_one(home);
}

bool Scheduler::wake_if_asleep(Worker& worker) {
  Worker::State expected = Worker::State::asleep;
  if (worker.state_.load(std::memory_order_seq_cst) != expected ||
      !worker.state_.compare_exchange_strong(expected, Worker::State::awake,
                                             std::memory_order_seq_cst)) {
    return false;
  }
  sleeper_count_.fetch_sub(1, std::memory_order_seq_cst);
  worker.parker_->unpark();
  return true;
}

void Scheduler::wake_a_sleeper(int preferred) {
  const sync::Quiet quiet;
  if (preferred != Task::kAnyWorker &&
      wake_if_asleep(*workers_[static_cast<std::size_t>(preferred)])) {
    return;
  }
  for (const auto& worker : workers_) {
    if (wake_if_asleep(*worker)) return;
  }
}

void Scheduler::wake(WorkerId worker) {
  const sync::Quiet quiet;
  wake_if_asleep(*workers_[static_cast<std::size_t>(worker.value())]);
}

// The flag is among what a worker that is about to sleep looks at: see Worker::sleep().
void Scheduler::look_again() {
  const sync::Quiet quiet;
  look_again_.store(true, std::memory_order_seq_cst);
  wake_one();
}

// A worker that is about to sleep raises its flag, takes the keeper's place if it is free, and
// looks at the first timer; here the timer is published first. Either it sees the timer, or it is
// seen here and woken. All seq_cst.
void Scheduler::add_timer(Timer& timer, std::uint64_t due_ns) {
  const sync::Quiet quiet;
  if (!timers_.add(timer, due_ns)) return;
  wake_one(timer_keeper_.load(std::memory_order_seq_cst));
}

ParkedList& Scheduler::parked_here() const {
  return *parked_[static_cast<std::size_t>(count_slot())];
}

std::uint64_t Scheduler::waiting_count() const {
  std::uint64_t count = 0;
  for (const auto& list : parked_) count += list->uncounted();
  return count;
}

std::vector<std::string> Scheduler::describe_waiting() const {
  std::vector<const ParkedList*> lists;
  lists.reserve(parked_.size());
  for (const auto& list : parked_) lists.push_back(list.get());
  return describe_waits(lists);
}

void Scheduler::cancel_waiting(const TaskScope& scope) {
  for (const auto& list : parked_) list->cancel(&scope);
}

bool Scheduler::cancel_main() {
  int count = 0;
  for (const auto& list : parked_) count += list->cancel(nullptr);
  return count > 0;
}

std::string Scheduler::keeps_main() const {
  std::string where;
  for (const auto& list : parked_) {
    list->for_each([&where](const Parked& one) {
      if (one.is_waiting_main() && !one.is_cancellable) where = one.where();
    });
  }
  return where;
}

std::size_t Scheduler::stack_count() const { return fibers_->count(); }

void Scheduler::request_stop() {
  const sync::Quiet quiet;
  stopping_.store(true, std::memory_order_seq_cst);
  for (const auto& worker : workers_) wake_if_asleep(*worker);
}

Task* Scheduler::steal_for(Worker& thief, bool delivered_only) {
  const auto count = static_cast<unsigned>(workers_.size());
  if (count == 1) return nullptr;
  const unsigned start = static_cast<unsigned>(thief.random_() % count);
  for (unsigned i = 0; i < count; ++i) {
    Worker& victim = *workers_[(start + i) % count];
    if (&victim == &thief) continue;
    if (Task* task = victim.delivered_shared.try_pop(); task != nullptr) return task;
    if (delivered_only) continue;
    if (Task* task = victim.ready_shared.try_pop(); task != nullptr) return task;
    if (Task* task = victim.deque.try_steal(); task != nullptr) return task;
  }
  return nullptr;
}

bool Scheduler::has_stealable(const Worker& thief) const {
  for (const auto& victim : workers_) {
    if (victim.get() == &thief) continue;
    if (!victim->delivered_shared.looks_empty()) return true;
    if (thief.throttled()) continue;
    if (!victim->ready_shared.looks_empty() || victim->deque.size_hint() > 0) return true;
  }
  return false;
}

int Scheduler::active_worker_count() const {
  return static_cast<int>(std::count_if(
      workers_.begin(), workers_.end(),
      [](const std::unique_ptr<Worker>& worker) { return worker->running_task.shows(); }));
}

std::uint64_t Scheduler::tasks_run() const {
  std::uint64_t total = 0;
  for (const auto& worker : workers_) {
    total += worker->tasks_run.load(std::memory_order_relaxed);  // a report
  }
  return total;
}

bool Scheduler::holds_work() const {
  return std::ranges::any_of(workers_, [](const auto& worker) { return worker->holds_work(); });
}

// --- reports

void Scheduler::ask_workers() {
  ++asked_;
  for (const auto& worker : workers_) {
    worker->ask(asked_);
    wake(worker->id());
  }
}

bool Scheduler::all_workers_answered() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [this](const auto& worker) { return worker->has_answered(asked_); });
}

std::vector<std::uint64_t> Scheduler::begun() const {
  std::vector<std::uint64_t> counts;
  counts.reserve(workers_.size());
  for (const auto& worker : workers_) {
    counts.push_back(worker->begun.load(std::memory_order_relaxed));  // a report
  }
  return counts;
}

std::vector<WorkerState> Scheduler::worker_states() {
  std::vector<WorkerState> states;
  states.reserve(workers_.size());
  for (const auto& worker : workers_) states.push_back(worker->state(asked_));
  return states;
}

std::vector<WorkerState> Scheduler::worker_states_here() {
  ++asked_;
  for (const auto& worker : workers_) {
    worker->ask(asked_);
    worker->answer();
  }
  // Work that takes its time in a simulated world stands in the middle of a step.
  std::vector<WorkerState> states = worker_states();
  for (std::size_t i = 0; i < states.size(); ++i) workers_[i]->add_running(states[i]);
  return states;
}

bool in_handler() {
  const Worker* worker = current_worker();
  return worker != nullptr && worker->handler_depth > 0;
}

bool in_suspendable_task() {
  const Task* task = current_task();
  return task != nullptr && task->kind == TaskKind::local;
}

bool in_main_function() {
  if (!in_suspendable_task()) return false;
  return current_task()->scope == nullptr;
}

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
  if (const Task* task = current_task(); task != nullptr) return task->name();
  return t_held_thread != nullptr ? t_held_thread->name() : "";
}

bool spend(const Cost& cost) {
  Worker* worker = current_worker();
  return worker == nullptr || worker->spend(cost);
}

bool costs_count() {
  const Worker* worker = current_worker();
  return worker != nullptr && worker->scheduler().env().charges();
}

HandlerMark::HandlerMark(bool counts) {
  Worker* const worker = current_worker();
  if (worker == nullptr) return;
  shown_ = &worker->running_handler;
  begun_ = counts ? &worker->begun : &worker->begun_uncounted;
  depth_ = &worker->handler_depth;
  outer_ = shown_->shown();
  if (worker->scheduler().env().observes()) observer_ = &worker->scheduler().env();
  ++*depth_;
}

HandlerMark::~HandlerMark() {
  hide();
  if (depth_ != nullptr) --*depth_;
}

ParkedSenderMark::ParkedSenderMark() : worker_(current_worker()) {
  if (worker_ == nullptr) return;
  // relaxed: the owner's, and reports read it
  worker_->parked_senders_.fetch_add(1, std::memory_order_relaxed);
}

ParkedSenderMark::~ParkedSenderMark() {
  if (worker_ == nullptr) return;
  worker_->parked_senders_.fetch_sub(1, std::memory_order_relaxed);
}

namespace {

void check_may_block(const char* what) {
  SHOAL_CHECK(!in_handler(),
              "{} would block, and a handler must not: deliver the message as a task instead",
              what);
}

void check_wait(const Worker& worker, const Waitable& what) {
  if (worker.handler_depth > 0) check_may_block(what.describe().c_str());
  SHOAL_CHECK(&worker.scheduler() == &what.scheduler(), "{} belongs to another rank",
              what.describe());
}

/// A thread of the program; it is not counted anywhere, unless by its Hold.
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
    counted = false;
  }
  void go_on(bool /*tell_scope*/) override {
    if (scope_ != nullptr) scope_->thread_goes_on();
    parker_->unpark();
  }
  /// Stands in a list.
  void wait() {
    if (scope_ != nullptr) scope_->thread_parks();
    parker_->park(0);
  }

 private:
  TaskScope* scope_ = nullptr;  // where its Hold counts as its task
  std::unique_ptr<env::Parker> parker_;
};

}  // namespace

void block(env::Env& env, const char* what, const Publish& publish) {
  check_may_block(what);
  if (Worker* worker = current_worker(); worker != nullptr) {
    worker->suspend(what, publish);
    return;
  }
  ThreadWaiter waiter(env, nullptr);
  if (publish(waiter)) waiter.wait();
}

void Waitable::check_may_wait() const {
  const Worker* const worker = current_worker();
  if (worker != nullptr) check_wait(*worker, *this);
}

void wait_for(Waitable& what) {
  Scheduler& scheduler = what.scheduler();
  if (Worker* worker = current_worker(); worker != nullptr) {
    check_wait(*worker, what);
    while (worker->run_nested(what)) {
      if (what.is_over()) return;
      worker = current_worker();
    }
    const bool told_by_scope = in_main_function() && !what.ends_by_itself();
    if (worker->wait_for(what)) return;
    if (told_by_scope) scheduler.scope().throw_to_main();
    tell_main_of_failure(scheduler);
  } else {
    ThreadWaiter waiter(scheduler.env(), &what);
    ParkedList& list = *scheduler.parked_.back();
    if (list.enlist(waiter, &scheduler.scope())) waiter.wait();
    list.remove(waiter);
    if (!waiter.cancelled) return;
  }
  throw CancelledError(what.describe() + ": the world has failed");
}

namespace {

/// Only its scope takes the main function out of it.
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
  static_cast<void>(current_worker()->wait_for(ended));
  scheduler.scope().throw_to_main();
}

/// A task that is submitted once it is woken. Owns itself.
class Deferred final : public ParkedWaiter {
 public:
  Deferred(Waitable& for_what, std::unique_ptr<Task> owned)
      : scheduler_(for_what.scheduler()), list_(scheduler_.parked_here()), task_(std::move(owned)) {
    task = task_.get();
    sync::publish(task);  // time may be what wakes it
    stand_in(for_what);
    since_ns = scheduler_.env().now_ns();
    counted = ends_by_itself;
  }

  void start() {
    // As the task that it becomes: were it counted apart, a thread that is no worker would have to
    // count its end, behind the worker that it wakes.
    if (counted) task->scope->count_created(scheduler_.count_slot());
    // Once it is enlisted it may be gone.
    if (!list_.enlist(*this, task->scope)) go_on(false);
  }
  void go_on(bool /*tell_scope*/) override {
    const std::unique_ptr<Deferred> self(this);
    list_.remove(*this);
    if (counted) {
      sync::publish(task_.get());
      const sync::Quiet quiet;
      scheduler_.enqueue(task_.release());
    } else {
      scheduler_.submit(std::move(task_));
    }
  }

 private:
  Scheduler& scheduler_;
  ParkedList& list_;
  std::unique_ptr<Task> task_;
};

void submit_after(Waitable& what, std::unique_ptr<Task> task) {
  auto* const deferred = new Deferred(what, std::move(task));
  deferred->start();
}

void yield() {
  Worker* const worker = current_worker();
  SHOAL_CHECK(worker != nullptr, "yield() was called on a thread that is no worker");
  check_may_block("yield()");
  Scheduler& scheduler = worker->scheduler();
  worker->suspend(
      "yield()",
      [](sync::Waiter& waiter) {
        waiter.wake();
        return true;
      },
      true);
  const Task* const task = current_task();
  const TaskScope& scope =
      task != nullptr && task->scope != nullptr ? *task->scope : scheduler.scope();
  if (!scope.failed()) return;
  tell_main_of_failure(scheduler);
  throw CancelledError("yield(): the world has failed");
}

Scheduler& current_scheduler(const char* what) {
  Worker* const worker = current_worker();
  SHOAL_CHECK(worker != nullptr,
              "{} was made on a thread that is no worker of shoal: give it the world", what);
  return worker->scheduler();
}

TaskScope& current_scope(Scheduler& scheduler) {
  const Task* const task = current_task();
  if (task == nullptr || task->scope == nullptr) return scheduler.scope();
  return &current_worker()->scheduler() == &scheduler ? *task->scope : scheduler.scope();
}

Task* current_task() {
  const Worker* const worker = current_worker();
  if (worker == nullptr || worker->current_ == nullptr) return nullptr;
  if (worker->handler_depth > 0) return nullptr;  // a handler belongs to no task
  return worker->current_->task;
}

}  // namespace shoal::sched
