#include "sched/worker.hpp"

#include <shoal/base/check.hpp>
#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shoal::sched {

namespace {

// The one thread-local of the library.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local Worker* t_worker = nullptr;

constexpr unsigned kSpinRounds = 64;   // steps with a pause between, a few microseconds
constexpr unsigned kYieldRounds = 64;  // then steps with a yield between
constexpr unsigned kPollRounds = 512;  // longer when arrivals come without a wake-up
constexpr unsigned kPollEvery = 16;    // tasks between two looks at the transport
constexpr unsigned kFairEvery = 32;    // picks between two that prefer what others pushed
constexpr std::uint64_t kPollSleepMinNs = 20'000;
constexpr std::uint64_t kPollSleepMaxNs = 500'000;

// The name may be made by code of the program.
std::string name_of(const Task& task) {
  try {
    return task.name();
  } catch (...) {
    return fmt::format("a task that could not be named ({})", describe(std::current_exception()));
  }
}

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

Worker* current_worker() { return t_worker; }

/// Stands for a parked fiber: on the stack of the very fiber it resumes.
class Worker::ResumeTask final : public Task, public sync::Waiter {
 public:
  ResumeTask(Worker& owner, SchedulingFiber& fiber) : owner_(owner), fiber_(fiber) {
    kind = TaskKind::resumed;
  }
  void run() override { owner_.resume(fiber_); }
  [[nodiscard]] std::string name() const override { return "resume"; }
  void wake() override {
    Worker& owner = owner_;  // once pushed, this object may be gone
    owner.resumed_own.push(this);
    owner.scheduler_.wake(owner.id_);
  }

 private:
  Worker& owner_;
  SchedulingFiber& fiber_;
};

Worker::Worker(Scheduler& scheduler, WorkerId id)
    : scheduler_(scheduler),
      id_(id),
      parker_(scheduler.env().make_parker()),
      random_(static_cast<unsigned>(scheduler.env().random_seed())) {}

Worker::~Worker() {
  // Left over only after an error that stopped the world: never run, only freed.
  const auto drop = [](Task* task) {
    if (task->kind != TaskKind::resumed) delete task;
  };
  for (ReadyQueue* queue : {&resumed_own, &bound_own, &delivered_shared, &ready_shared}) {
    while (Task* task = queue->try_pop()) drop(task);
  }
  while (Task* task = deque.try_pop()) drop(task);
}

std::string Worker::name() const {
  return fmt::format("rank {} worker {}", scheduler_.rank().value(), id_.value());
}

void Worker::run() {
  if (scheduler_.options_.on_worker_start) scheduler_.options_.on_worker_start(id_);
  t_worker = this;
  thread_fiber_ = std::make_unique<Fiber>();
  current_ = &idle_fiber();
  Fiber::switch_to(*thread_fiber_, current_->fiber);  // returns when the loop has ended
  end_fibers();
  t_worker = nullptr;
}

env::StepResult Worker::step() {
  t_worker = this;
  stepping_ = true;
  if (thread_fiber_ == nullptr) {
    thread_fiber_ = std::make_unique<Fiber>();
    current_ = &idle_fiber();
  }
  Fiber::switch_to(*thread_fiber_, current_->fiber);
  if (scheduler_.stopping()) {
    end_fibers();
    step_result_ = env::StepResult::stopped;
  }
  t_worker = nullptr;
  return step_result_;
}

// The loop's fibers return from the loop, one by one. Parked ones (only after an error) are
// abandoned.
void Worker::end_fibers() {
  for (SchedulingFiber* fiber : std::exchange(idle_, {})) {
    current_ = fiber;
    Fiber::switch_to(*thread_fiber_, fiber->fiber);
  }
  current_ = nullptr;
  fibers_.clear();
}

void Worker::enter_loop(void* worker) {
  auto* self = static_cast<Worker*>(worker);
  self->loop();
  self->current_->fiber.leave_to(*self->thread_fiber_);
}

void Worker::loop() {
  if (after_switch_) {  // entered because a task was suspended: that was a step
    after_switch();
    after_step(env::StepResult::worked);
  }
  while (!scheduler_.stopping()) after_step(step_once());
}

void Worker::after_step(env::StepResult result) {
  if (result == env::StepResult::idle) {
    idle();
    return;
  }
  idle_rounds_ = 0;
  if (stepping_) leave_step(result);
}

void Worker::leave_step(env::StepResult result) {
  step_result_ = result;
  if (!scheduler_.stopping()) Fiber::switch_to(current_->fiber, *thread_fiber_);
}

env::StepResult Worker::step_once() {
  Progress& progress = *scheduler_.progress_;
  ++ticks_;
  // relaxed: seen a step later at the latest; sleep() looks again
  if (asked_.load(std::memory_order_relaxed) != answered_.load(std::memory_order_relaxed)) {
    answer();
  }
  bool progressed = false;
  if (ticks_ % kPollEvery == 0 || progress.looks_busy()) progressed = progress.poll();
  if (Task* task = next_task(); task != nullptr) {
    // Busy from now on: another sleeper takes over polling.
    if (std::exchange(was_poller_, false)) scheduler_.wake_one();
    execute(task);
    return env::StepResult::worked;
  }
  if (!progressed) progressed = progress.poll();
  if (!progressed) {
    // relaxed: a hint, sleep() looks again; what came before the call of look_again() whose flag is
    // lowered here is seen by on_idle().
    if (scheduler_.look_again_.load(std::memory_order_relaxed)) {
      scheduler_.look_again_.exchange(false, std::memory_order_seq_cst);
    }
    progressed = progress.on_idle();
  }
  return progressed ? env::StepResult::worked : env::StepResult::idle;
}

Task* Worker::next_task() {
  if (Task* task = resumed_own.try_pop(); task != nullptr) return task;
  // Messages first: they hold memory. But those that make tasks for ever must not keep out the
  // rest.
  const bool fair_turn = ++turns_ % kFairEvery == 0;
  if (fair_turn && !throttled()) {
    if (Task* task = take_ready(); task != nullptr) return task;
  }
  if (Task* task = delivered_shared.try_pop(); task != nullptr) return task;
  if (!fair_turn && !throttled()) {
    if (Task* task = take_ready(); task != nullptr) return task;
  }
  return scheduler_.steal_for(*this, throttled());
}

// The first of three queues by priority. Ties go to the deque, whose tasks have priority 0, for the
// sake of the cache, then to bound tasks, which nobody else can run. Now and then they go to bound
// tasks, or to shared ones, first: tasks that submit tasks for ever must not keep out the others.
Task* Worker::take_ready() {
  const std::int64_t bound = bound_own.top_priority();
  const std::int64_t shared = ready_shared.top_priority();
  const std::int64_t best = std::max(bound, shared);
  const bool fair_turn = ++picks_ % kFairEvery == 0;
  const bool bound_first = bound != shared ? bound > shared : picks_ % (2 * kFairEvery) != 0;
  if (best < 0 || (best == 0 && !fair_turn)) {
    if (Task* task = deque.try_pop(); task != nullptr) return task;
  }
  ReadyQueue& first = bound_first ? bound_own : ready_shared;
  ReadyQueue& second = bound_first ? ready_shared : bound_own;
  if (Task* task = first.try_pop(); task != nullptr) return task;
  if (Task* task = second.try_pop(); task != nullptr) return task;
  return deque.try_pop();
}

void Worker::execute(Task* task) {
  count_begun();
  if (task->kind == TaskKind::resumed) {
    task->run();  // lives on the fiber it resumes: not ours to delete
    return;
  }
  run_counted(std::unique_ptr<Task>(task));
}

void Worker::run_counted(std::unique_ptr<Task> task) {
  TaskScope* const scope = task->scope;
  if (scope == nullptr || !scope->failed()) {
    current_->task = task.get();
    if (stepping_ && scheduler_.env().observes()) scheduler_.env().observe(name_of(*task));
    running_task.show(task.get());
    try {
      task->run();
    } catch (...) {
      if (scope == nullptr) throw;  // the main function's wrapper lets nothing through
      scope->fail(name_of(*task), std::current_exception());
    }
    current_->task = nullptr;
    running_task.hide();
    // relaxed: one writer, read by reports
    tasks_run.store(tasks_run.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  task.reset();  // its captures are gone before wait() can return
  if (scope != nullptr) scope->count_finished(id_);
}

void Worker::suspend(const char* what, const Publish& publish) {
  SchedulingFiber& self = *current_;
  self.parked_in = what;
  self.parked_since_ns = scheduler_.env_.now_ns();
  ResumeTask waiter(*this, self);
  after_switch_ = [&] {
    if (!publish(waiter)) waiter.wake();
  };
  switch_fiber(self, idle_fiber());
}

// The next step goes on here: until then the worker is busy, whatever there is to do.
bool Worker::spend(const Cost& cost) {
  if (!scheduler_.env().charges()) return true;
  const bool really = scheduler_.env().charge(cost);
  leave_step(env::StepResult::worked);
  return really;
}

void Worker::resume(SchedulingFiber& fiber) {
  SchedulingFiber& self = *current_;
  idle_.push_back(&self);
  switch_fiber(self, fiber);
}

void Worker::switch_fiber(SchedulingFiber& from, SchedulingFiber& to) {
  current_ = &to;
  running_task.show(to.task);  // the parked one cannot end before this worker goes on with it
  Fiber::switch_to(from.fiber, to.fiber);
  after_switch();
}

void Worker::after_switch() {
  // The action refers to the stack of the fiber just left, which stays parked: the worker that
  // could resume it is this one, and it is busy here.
  if (after_switch_) std::exchange(after_switch_, nullptr)();
}

Worker::SchedulingFiber& Worker::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<SchedulingFiber>(scheduler_.options_.stack_bytes,
                                                        &Worker::enter_loop, this));
    return *fibers_.back();
  }
  SchedulingFiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

bool Worker::holds_work() const {
  for (const ReadyQueue* queue : {&resumed_own, &bound_own, &delivered_shared, &ready_shared}) {
    if (!queue->looks_empty()) return true;
  }
  if (deque.size_hint() > 0) return true;
  return std::ranges::any_of(fibers_, [](const auto& fiber) {
    return fiber->task != nullptr && fiber->task->scope != nullptr;
  });
}

void Worker::ask(std::uint64_t number) {
  slept_.store(state_.load(std::memory_order_relaxed) == State::asleep, std::memory_order_relaxed);
  asked_.store(number, std::memory_order_seq_cst);
}

void Worker::answer() {
  const std::uint64_t number = asked_.load(std::memory_order_seq_cst);
  Answer mine{{}, throttled()};
  for (const auto& fiber : fibers_) {
    const Task* const task = fiber.get() == current_ ? nullptr : fiber->task;
    if (task == nullptr) continue;
    mine.parked.push_back(
        {name_of(*task), fiber->parked_in, fiber->parked_since_ns, task->scope == nullptr});
  }
  {
    const sync::Lock lock(answer_mutex_);
    answer_ = std::move(mine);
  }
  answered_.store(number, std::memory_order_release);
}

WorkerState Worker::state(std::uint64_t asked) {
  WorkerState state;
  state.worker = id_;
  state.answered = has_answered(asked);
  state.begun = begun.load(std::memory_order_relaxed);
  if (state.answered) {
    state.asleep = slept_.load(std::memory_order_relaxed);
    const sync::Lock lock(answer_mutex_);
    state.parked = answer_.parked;
    state.throttled = answer_.throttled;
  } else {
    add_running(state);
  }
  state.queues = {resumed_own.size(), bound_own.size(), delivered_shared.size(),
                  ready_shared.size(),
                  static_cast<std::size_t>(std::max<std::int64_t>(deque.size_hint(), 0))};
  return state;
}

void Worker::add_running(WorkerState& state) {
  running_task.visit([&](const Task& task) { state.task = name_of(task); });
  running_handler.visit([&](const std::string& name) { state.handler = name; });
}

bool Worker::sees_work() const {
  if (asked_.load(std::memory_order_seq_cst) != answered_.load(std::memory_order_relaxed)) {
    return true;
  }
  if (scheduler_.look_again_.load(std::memory_order_seq_cst)) return true;
  if (!resumed_own.looks_empty() || !delivered_shared.looks_empty()) return true;
  if (!throttled() &&
      (!bound_own.looks_empty() || !ready_shared.looks_empty() || deque.size_hint() > 0)) {
    return true;
  }
  return scheduler_.has_stealable(*this);
}

void Worker::idle() {
  ++idle_rounds_;
  const bool must_poll = scheduler_.progress_->must_poll(id_);
  const unsigned spins = scheduler_.options_.oversubscribed ? 0 : kSpinRounds;
  if (!stepping_ && idle_rounds_ <= spins) {
    pause_briefly();
    return;
  }
  if (!stepping_ && idle_rounds_ <= spins + (must_poll ? kPollRounds : kYieldRounds)) {
    scheduler_.env_.yield();
    return;
  }
  // Of several that could poll, one keeps a short sleep; the others sleep until woken.
  const bool polls =
      must_poll && !scheduler_.poller_taken_.exchange(true, std::memory_order_acq_rel);
  was_poller_ = polls;
  sleep(polls);
  if (polls) scheduler_.poller_taken_.store(false, std::memory_order_release);
}

// No wake-up is lost. The sleeper: state_ = asleep (A), then looks at the queues and flags (B). The
// pusher: changes one of them (C), then looks for sleepers (D). All are seq_cst, so either B sees
// C, or D sees A and unparks; and a Parker remembers an unpark() that comes before park().
// tests/model/sync_sleep_wake_test.cpp explores it.
void Worker::sleep(bool may_poll) {
  state_.store(State::asleep, std::memory_order_seq_cst);
  scheduler_.sleeper_count_.fetch_add(1, std::memory_order_seq_cst);
  if (!sees_work() && !scheduler_.progress_->looks_busy() && !scheduler_.stopping()) {
    std::uint64_t timeout_ns = 0;
    if (may_poll) {
      const unsigned rounds = idle_rounds_ - std::min(idle_rounds_, kPollRounds);
      const unsigned doublings = std::min(rounds / 8, 5U);
      timeout_ns = std::min(kPollSleepMinNs << doublings, kPollSleepMaxNs);
    }
    parker_->park(timeout_ns);
  }
  if (stepping_) leave_step(env::StepResult::idle);  // sleeps until the next step
  // Whoever lowers the flag takes this worker off the count: a waker, or it itself.
  if (state_.exchange(State::awake, std::memory_order_seq_cst) == State::asleep) {
    scheduler_.sleeper_count_.fetch_sub(1, std::memory_order_seq_cst);
  } else {
    idle_rounds_ = 0;  // woken: there is something to find
  }
}

}  // namespace shoal::sched
