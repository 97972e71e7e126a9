#include "sched/worker.hpp"

#include <shoal/base/check.hpp>
#include <shoal/base/error.hpp>

#include "sync/pause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <utility>

namespace shoal::sched {

namespace {

// The one thread-local that says where a thread is in the library.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local Worker* t_worker = nullptr;

constexpr unsigned kSpinRounds = 64;     // steps with a pause between, a few microseconds
constexpr unsigned kYieldRounds = 64;    // then steps with a yield between
constexpr unsigned kPollRounds = 512;    // longer when arrivals come without a wake-up
constexpr unsigned kAskAfterRounds = 8;  // steps without work; below kYieldRounds
constexpr unsigned kLookEvery = 16;      // tasks between two looks at the transport
constexpr unsigned kLookAfterIdle = 3;   // steps: one that finds a message, one for its task
constexpr unsigned kLookSoon = 2;        // tasks, twice as many each time
constexpr unsigned kFairEvery = 32;      // picks between two that prefer what others pushed
constexpr std::uint64_t kPollSleepMinNs = 20'000;
constexpr std::uint64_t kPollSleepMaxNs = 500'000;

}  // namespace

Worker* current_worker() {
  asm volatile("" ::: "memory");  // nor does the compiler keep the answer to an earlier call
  return t_worker;
}

// Here, so that it takes one call. Not inlined: see current_worker().
[[gnu::noinline]] int Scheduler::count_slot() const {
  asm volatile("" ::: "memory");
  const Worker* const me = t_worker;
  return me != nullptr && &me->scheduler_ == this ? me->id_.value() : options_.worker_count;
}

/// Stands in a queue for a parked fiber.
class Worker::ResumeTask final : public Task {
 public:
  explicit ResumeTask(SchedulingFiber& fiber) : fiber_(fiber) { kind = TaskKind::resumed; }
  void run() override { current_worker()->resume(fiber_); }
  [[nodiscard]] std::string name() const override { return "resume"; }

 private:
  SchedulingFiber& fiber_;
};

/// A task that parked on `owner`: on the stack of the very fiber that is parked.
class Worker::ParkedHere final : public ParkedWaiter {
 public:
  ParkedHere(Worker& owner, ReadyQueue& queue, const char* in, Waitable* for_what)
      : resume_(*owner.current_), owner_(owner), queue_(queue) {
    task = owner.current_->task;
    outer = owner.current_->outer;
    if (for_what != nullptr) stand_in(*for_what);
    what = in;
    since_ns = owner.scheduler_.env_.now_ns();
    counted = for_what == nullptr || is_main() || ends_by_itself;
    if (task != nullptr) resume_.priority = task->priority;
  }

  void go_on(bool tell_scope) override {
    sync::publish(this);
    const sync::Quiet quiet;
    if (!counted) task->scope->count_created(owner_.scheduler_.count_slot());
    if (is_waiting_main() && tell_scope) owner_.scheduler_.scope_->main_goes_on();
    go_back();
  }
  void go_back() {
    Worker& owner = owner_;  // once pushed, this object may be gone
    const bool own = &queue_ != &owner.delivered_shared && &queue_ != &owner.ready_shared;
    queue_.push(&resume_);
    if (own) {
      owner.scheduler_.wake(owner.id_);
    } else {
      owner.scheduler_.wake_one(owner.id_.value());
    }
  }

 private:
  ResumeTask resume_;
  Worker& owner_;
  ReadyQueue& queue_;
};

Worker::Worker(Scheduler& scheduler, WorkerId id)
    : scheduler_(scheduler),
      id_(id),
      parker_(scheduler.env().make_parker()),
      random_(static_cast<unsigned>(scheduler.env().random_seed())),
      parked_(*scheduler.parked_[static_cast<std::size_t>(id.value())]) {}

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
  constexpr std::size_t kLongest = 15;  // of a thread's name
  const std::string name = fmt::format("r{} w{}", scheduler_.rank().value(), id_.value());
  const std::string full = "shoal " + name;
  return full.size() <= kLongest ? full : name;
}

std::string Worker::purpose() const {
  return fmt::format("worker {} of rank {}", id_.value(), scheduler_.rank().value());
}

void Worker::run() {
  if (scheduler_.options_.on_worker_start) scheduler_.options_.on_worker_start(id_);
  t_worker = this;
  enter_first_loop();
  Fiber::switch_to(*thread_fiber_, current_->fiber);  // returns when the loop has ended
  end_fibers();
  t_worker = nullptr;
}

env::StepResult Worker::step() {
  t_worker = this;
  stepping_ = true;
  if (thread_fiber_ == nullptr) enter_first_loop();
  Fiber::switch_to(*thread_fiber_, current_->fiber);
  if (scheduler_.stopping()) {
    end_fibers();
    step_result_ = env::StepResult::stopped;
  }
  t_worker = nullptr;
  return step_result_;
}

// The second one of worker 0 is for the main function, which can wait even if there is no memory
// for stacks any more: whenever it goes on, a fiber of its worker becomes idle.
void Worker::enter_first_loop() {
  thread_fiber_ = std::make_unique<Fiber>();
  fault_watch_.emplace(&explain_fault);
  current_ = &scheduler_.fibers_->take_first();
  if (id_.value() == 0) idle_.push_back(&scheduler_.fibers_->take_first());
}

// The idle fibers return from the loop, one by one. Parked ones (only after an error) stay.
void Worker::end_fibers() {
  const auto end = [this](SchedulingFiber& fiber) {
    current_ = &fiber;
    Fiber::switch_to(*thread_fiber_, fiber.fiber);
  };
  for (SchedulingFiber* fiber : std::exchange(idle_, {})) end(*fiber);
  while (SchedulingFiber* fiber = scheduler_.fibers_->try_take()) end(*fiber);
  current_ = nullptr;
  fault_watch_.reset();
}

void Worker::enter_loop(void* /*unused*/) {
  loop();
  Worker* const worker = current_worker();
  worker->current_->fiber.leave_to(*worker->thread_fiber_);
}

void Worker::loop() {
  Worker* worker = current_worker();
  if (worker->after_switch_) {
    worker->after_switch();  // entered because a task was suspended: that was a step
    worker->after_work();
  }
  while (!worker->scheduler_.stopping()) worker = &worker->step_once();
}

Worker& Worker::after_work() {
  idle_rounds_ = 0;
  if (stepping_) leave_step(env::StepResult::worked);
  return *this;
}

[[gnu::noinline]] void Worker::leave_step(env::StepResult result) {
  step_result_ = result;
  if (!scheduler_.stopping()) Fiber::switch_to(current_->fiber, *thread_fiber_);
}

// Flat: what follows up to look_around() is the cost of a task.
[[gnu::flatten]] Worker& Worker::step_once() {
  if (Task* task = quick_task(); task != nullptr) return execute(task);
  return look_around();
}

// What a busy worker runs most of the time: a task of its own deque, as long as nothing else calls
// for attention.
Task* Worker::quick_task() {
  if (is_called() || !has_only_deque()) return nullptr;
  return deque.try_pop();
}

[[gnu::always_inline]] inline bool Worker::is_called() {
  ++ticks_;
  return is_look_due() || scheduler_.progress_->may_be_busy() || was_poller_ || throttled() ||
         is_asked();
}

bool Worker::has_only_deque() const {
  return (resumed_own.top_key() | bound_own.top_key() | delivered_shared.top_key() |
          ready_shared.top_key()) == 0;
}

// Some time after the last look: twice as long each time, since who has been waiting is waited for,
// and what its first tasks send is to leave.
bool Worker::is_look_due() const { return static_cast<int>(ticks_ - look_at_) >= 0; }

// What a busy worker does now and then. True: that may have led to a task.
bool Worker::look_out() {
  const bool in_turn = is_look_due();
  if (in_turn) {
    look_at_ = ticks_ + look_every_;
    look_every_ = std::min(2 * look_every_, kLookEvery);
  }
  const bool expired = in_turn && expire_timers();
  return ((in_turn || scheduler_.progress_->looks_busy()) && scheduler_.progress_->poll(false)) ||
         expired;
}

[[gnu::noinline]] Worker& Worker::look_around() {
  if (is_asked()) answer();
  const bool progressed = look_out();
  if (Task* task = next_task(); task != nullptr) {
    // Busy from now on: another sleeper takes over polling.
    if (std::exchange(was_poller_, false)) scheduler_.wake_one();
    return execute(task);
  }
  if (progressed || look_closer()) return after_work();
  idle();
  return *this;
}

// There is no task: whether something else can be done that may lead to one.
bool Worker::look_closer() {
  Progress& progress = *scheduler_.progress_;
  if (progress.poll(true) || expire_timers()) return true;
  // Once, when this worker has been out of work for a moment: what another one does is followed by
  // a look of its own, and what is done outside of workers by look_again().
  bool asks = idle_rounds_ == kAskAfterRounds || stepping_;
  // relaxed: a hint, sleep() looks again; what came before the call of look_again() whose flag is
  // lowered here is seen by on_idle().
  if (scheduler_.look_again_.load(std::memory_order_relaxed)) {
    scheduler_.look_again_.exchange(false, std::memory_order_seq_cst);
    asks = true;
  }
  return asks && progress.on_idle();
}

Task* Worker::next_task() {
  if (Task* task = resumed_own.try_pop(); task != nullptr) return task;
  // Messages first: they hold memory. But those that make tasks for ever must not keep out the
  // rest.
  const bool fair_turn = ++turns_ % kFairEvery == 0;
  const bool takes_ready = !throttled();
  if (fair_turn && takes_ready) {
    if (Task* task = take_ready(); task != nullptr) return task;
  }
  if (Task* task = delivered_shared.try_pop(); task != nullptr) return task;
  if (!fair_turn && takes_ready) {
    if (Task* task = take_ready(); task != nullptr) return task;
  }
  return scheduler_.steal_for(*this, !takes_ready);
}

// The first of three queues by priority. Ties go to the deque, whose tasks have priority 0, for the
// sake of the cache, then to bound tasks, which nobody else can run. Now and then they go to bound
// tasks, or to shared ones, first: tasks that submit tasks for ever must not keep out the others.
Task* Worker::take_ready() {
  constexpr std::uint64_t kPlain = ReadyQueue::key_of(0);  // as in the deque
  const bool fair_turn = ++picks_ % kFairEvery == 0;
  const std::uint64_t bound = bound_own.top_key();
  const std::uint64_t shared = ready_shared.top_key();
  const std::uint64_t best = std::max(bound, shared);
  if (best < kPlain || (best == kPlain && !fair_turn)) {
    if (Task* task = deque.try_pop_if_any(); task != nullptr) return task;
  }
  if (best == 0) return nullptr;
  const bool bound_first = bound != shared ? bound > shared : picks_ % (2 * kFairEvery) != 0;
  ReadyQueue& first = bound_first ? bound_own : ready_shared;
  ReadyQueue& second = bound_first ? ready_shared : bound_own;
  if (Task* task = first.try_pop(); task != nullptr) return task;
  if (Task* task = second.try_pop(); task != nullptr) return task;
  return deque.try_pop();
}

// It may end on another worker, which then goes on with the caller's fiber.
Worker& Worker::execute(Task* task) {
  count_begun();
  if (task->kind == TaskKind::resumed) [[unlikely]] {
    task->run();  // lives on the fiber it resumes: not ours to delete
    return current_worker()->after_work();
  }
  return run_to_end(task, nullptr).after_work();
}

// `outer`: that waits for it on the same stack, if any.
Worker& Worker::run_to_end(Task* task, const Task* outer) {
  TaskScope* const scope = task->scope;
  SchedulingFiber& fiber = *current_;
  fiber.was_left = false;
  Worker* worker = this;
  if (sync::watches_strands()) begin_strand(*task, fiber.strand);
  if (scope == nullptr || !scope->failed()) worker = &run(*task, fiber);
  return worker->end(task, scope, fiber, outer);
}

// Tasks bound to one worker run one after the other.
[[gnu::noinline]] void Worker::begin_strand(const Task& task, sync::Strand& strand) {
  strand.run([this, begun = &task] {
    sync::observe(begun);
    if (begun->bound) sync::observe(this);
  });
  strand.set_name(fmt::format("{}, rank {}", name_of(task), scheduler_.rank().value()));
}

Worker& Worker::run(Task& task, SchedulingFiber& fiber) {
  fiber.task = &task;
  running_task.show(&task);
  if (stepping_) [[unlikely]] {
    run_observed(task, fiber);
  } else {
    run_function(task, fiber);
  }
  Worker& worker = worker_of(fiber);
  worker.running_task.hide();
  // relaxed: one writer, read by reports
  worker.tasks_run.store(worker.tasks_run.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  return worker;
}

[[gnu::always_inline]] inline void Worker::run_function(Task& task, SchedulingFiber& fiber) {
  try {
    fiber.strand.run([begun = &task] { begun->run(); });
  } catch (...) {
    fail(task);
  }
}

[[gnu::noinline]] void Worker::run_observed(Task& task, SchedulingFiber& fiber) {
  observe(env::Happening::begins, &task, {});
  run_function(task, fiber);
  current_worker()->observe(env::Happening::ends, &task, {});
}

[[gnu::noinline]] void Worker::fail(const Task& task) {
  if (task.scope == nullptr) throw;  // the main function's wrapper lets nothing through
  task.scope->fail(name_of(task), std::current_exception());
}

// Destroys the task before it counts as finished, so that its captures are gone before wait() can
// return. Their destructors may wait; the fiber then stands for `ending`, not for the dead task.
Worker& Worker::end(Task* task, TaskScope* scope, SchedulingFiber& fiber, const Task* outer) {
  fiber.ending.scope = scope;
  fiber.ending.worker = task->worker;
  fiber.ending.bound = task->bound;
  fiber.task = &fiber.ending;
  fiber.strand.run([this, task] {
    const bool bound = task->bound;
    delete task;
    if (bound) sync::publish(this);
  });
  fiber.strand.end();
  Worker& worker = worker_of(fiber);
  fiber.task = nullptr;
  if (fiber.was_left) worker.running_task.hide();
  if (outer != nullptr) outer->scope->count_created(worker.id_);
  if (scope != nullptr) scope->count_finished(worker.id_);
  return worker;
}

// The one that goes on with `fiber`, on which the caller stands.
Worker& Worker::worker_of(const SchedulingFiber& fiber) {
  return fiber.was_left ? *current_worker() : *this;
}

bool Worker::expire_timers() {
  if (scheduler_.timers_.next_ns() == Timers::kNever) return false;
  return scheduler_.timers_.expire(scheduler_.env_.now_ns());
}

[[gnu::noinline]] void Worker::observe(env::Happening what, const Task* task,
                                       const std::string& where) {
  if (task == nullptr || !scheduler_.env().observes()) return;
  scheduler_.env().observe(
      what, where.empty() ? name_of(*task) : fmt::format("{}' in '{}", name_of(*task), where));
}

void Worker::suspend(const char* what, const Publish& publish, bool last) {
  const sync::Quiet quiet;
  const bool bound = current_->task != nullptr && current_->task->bound;
  SchedulingFiber& next = idle_fiber();  // may throw: before anybody knows of the waiter
  ParkedHere waiter(*this, !last ? resumed_own : bound ? bound_own : ready_shared, what, nullptr);
  parked_.add(waiter);
  // Captures one word, so that std::function takes no memory.
  struct Parking {
    ParkedHere& waiter;
    const Publish& publish;
    sync::StrandHere strand;
  } parking{waiter, publish, {}};
  after_switch_ = [&parking] {
    sync::StrandHere strand = parking.strand;  // this frame may be gone before run() returns
    strand.run([parked = &parking.waiter, tell = &parking.publish] {
      if (!(*tell)(*parked)) parked->wake();
    });
  };
  ParkedList& list = parked_;
  if (stepping_) observe(env::Happening::parks, current_->task, what);
  switch_between(bound, next);
  sync::observe(&waiter);
  list.remove(waiter);
}

// Leaves the running task, and returns when it goes on.
void Worker::switch_between(bool bound, SchedulingFiber& next) {
  const SchedulingFiber& fiber = *current_;
  if (bound) sync::publish(this);
  switch_fiber(*current_, next);
  if (bound) sync::observe(this);
  if (stepping_) current_worker()->observe(env::Happening::goes_on, fiber.task, {});
}

bool Worker::wait_for(Waitable& what) {
  const sync::Quiet quiet;
  Task* const task = current_->task;
  task->before_parking();
  SchedulingFiber& next = idle_fiber();  // may throw: before anybody knows of the waiter
  ParkedHere waiter(*this, task->bound ? resumed_own : delivered_shared, "", &what);
  ParkedList& list = parked_;
  after_switch_ = [&waiter] {
    // Once it is enlisted, the task may be running elsewhere: nothing of its stack is touched.
    Worker& self = *current_worker();
    TaskScope* const counts = waiter.counted ? nullptr : waiter.task->scope;
    const bool is_main = waiter.is_waiting_main();
    // The main function goes on when its scope is done with what failed: tasks may use what stands
    // on its stack.
    const TaskScope* const fails =
        waiter.task->scope != nullptr ? waiter.task->scope : self.scheduler_.scope_;
    if (!self.parked_.enlist(waiter, is_main ? nullptr : fails)) {
      waiter.go_back();
    } else if (is_main) {
      self.scheduler_.scope_->main_parks();
    } else if (counts != nullptr) {
      counts->count_finished(self.id_);
    }
  };
  if (stepping_) observe(env::Happening::parks, task, what.describe());
  switch_between(task->bound, next);
  sync::observe(&waiter);
  list.remove(waiter);
  return !waiter.cancelled;
}

// Tasks that share a fiber park together. So none of them may be bound to a worker, and each must
// find most of a stack below it.
bool Worker::may_nest(const SchedulingFiber& fiber) {
  const Task& task = *fiber.task;
  if (task.scope == nullptr || task.bound || &task == &fiber.ending) return false;
  return static_cast<const std::byte*>(__builtin_frame_address(0)) > fiber.nests_above;
}

// For detection the outer task has finished meanwhile, like one that is parked. end() creates it
// again when nothing is left of the nested one that might wait, and before that one has finished:
// there is no moment at which nothing runs.
bool Worker::run_nested(Waitable& what) {
  if (sync::watches_strands()) return false;  // each has a stack of its own
  SchedulingFiber& fiber = *current_;
  if (!may_nest(fiber)) return false;
  if (is_called() && !look_out_nested()) return false;
  Task* const task = has_only_deque() ? deque.try_pop() : nullptr;
  if (task == nullptr) return false;
  if (!what.needs(*task)) {
    deque.push(task);
    scheduler_.wake_one();  // one that fell asleep meanwhile has not seen it
    return false;
  }
  Task& outer = *fiber.task;
  const bool outer_was_left = fiber.was_left;
  outer.before_parking();
  const Nesting nesting{outer, what, fiber.outer};
  fiber.outer = &nesting;
  outer.scope->count_finished(id_);
  if (stepping_) leave_step(env::StepResult::worked);
  count_begun();
  Worker& worker = run_to_end(task, &outer);
  fiber.was_left = fiber.was_left || outer_was_left;
  fiber.outer = nesting.outer;
  fiber.task = &outer;
  worker.running_task.show(&outer);
  worker.after_work();
  return true;
}

// Without leaving the stack of a task that waits. False: that does not do.
[[gnu::noinline]] bool Worker::look_out_nested() {
  if (throttled() || is_asked()) return false;
  look_out();
  if (std::exchange(was_poller_, false)) scheduler_.wake_one();
  return true;
}

// The next step goes on here: until then the worker is busy, whatever there is to do.
bool Worker::spend(const Cost& cost) {
  if (!scheduler_.env().charges()) return true;
  const sync::Quiet quiet;
  const bool really = scheduler_.env().charge(cost);
  leave_step(env::StepResult::worked);
  return really;
}

void Worker::resume(SchedulingFiber& fiber) {
  SchedulingFiber& self = *current_;
  // Nobody takes it from here before it was left: other workers do not look into idle_.
  keep_idle(self);
  switch_fiber(self, fiber);
}

void Worker::switch_fiber(SchedulingFiber& from, SchedulingFiber& to) {
  Worker* const worker = current_worker();
  from.was_left = true;
  worker->current_ = &to;
  worker->running_task.hide(to.task);  // the parked one may end on another worker
  Fiber::switch_to(from.fiber, to.fiber);
  current_worker()->after_switch();
}

// The action may publish what stands on the stack that was left: the worker that goes on with that
// may be any other, from then on.
void Worker::after_switch() {
  if (after_switch_) std::exchange(after_switch_, nullptr)();
}

SchedulingFiber& Worker::idle_fiber() {
  if (idle_.empty()) return scheduler_.fibers_->take();
  SchedulingFiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Worker::keep_idle(SchedulingFiber& fiber) {
  idle_.push_back(&fiber);
  if (idle_.size() <= kIdleFibersMax) return;
  scheduler_.fibers_->give(*idle_.front());  // not the one that is about to be left
  idle_.erase(idle_.begin());
}

bool Worker::holds_work() const {
  for (const ReadyQueue* queue : {&resumed_own, &bound_own, &delivered_shared, &ready_shared}) {
    if (!queue->looks_empty()) return true;
  }
  if (deque.size_hint() > 0 || parked_.holds_counted()) return true;
  return current_ != nullptr && current_->task != nullptr && current_->task->scope != nullptr;
}

void Worker::ask(std::uint64_t number) {
  slept_.store(state_.load(std::memory_order_relaxed) == State::asleep, std::memory_order_relaxed);
  asked_.store(number, std::memory_order_seq_cst);
}

WorkerState Worker::state(std::uint64_t asked) {
  WorkerState state;
  state.worker = id_;
  state.answered = has_answered(asked);
  state.begun = begun.load(std::memory_order_relaxed);
  if (state.answered) {
    state.asleep = slept_.load(std::memory_order_relaxed);
  } else {
    add_running(state);
  }
  state.throttled = throttled();
  parked_.for_each([&state](const Parked& one) {
    state.parked.push_back({one.name(), one.where(), one.since_ns, one.is_main()});
    for (const Nesting* outer = one.outer; outer != nullptr; outer = outer->outer) {
      state.parked.push_back(
          {name_of(outer->task), outer->waitable.describe(), one.since_ns, false});
    }
  });
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
  if (must_poll) {
    look_at_ = ticks_ + kLookAfterIdle;
    look_every_ = kLookSoon;
  }
  const unsigned spins = scheduler_.options_.oversubscribed ? 0 : kSpinRounds;
  if (must_poll && scheduler_.progress_->is_streaming()) {
    idle_rounds_ = std::min(idle_rounds_, std::max(spins, 1U));
  }
  if (!stepping_ && idle_rounds_ <= spins) {
    // To poll takes long enough, unless another worker does it.
    if (!must_poll || scheduler_.worker_count() > 1) sync::pause_briefly();
    return;
  }
  const unsigned yields = must_poll ? kPollRounds : kYieldRounds;
  if (!stepping_ && idle_rounds_ <= spins + yields) {
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
// C, or D sees A and unparks; and a Parker remembers an unpark() that comes before park(). A deque
// is pushed to with less: then the barrier between A and B makes either the pusher's C visible to
// B, or D come after A. tests/model/sync_sleep_wake_test.cpp explores it.
void Worker::sleep(bool may_poll) {
  state_.store(State::asleep, std::memory_order_seq_cst);
  scheduler_.sleeper_count_.fetch_add(1, std::memory_order_seq_cst);
  const bool is_seen = stepping_ || !sync::has_asymmetric_barrier() || sync::heavy_barrier();
  bool keeps_time = false;
  if (is_seen && !sees_work() && !scheduler_.progress_->looks_busy() && !scheduler_.stopping()) {
    std::uint64_t timeout_ns = may_poll ? poll_timeout_ns() : 0;
    keeps_time = limit_by_timer(timeout_ns);
    parker_->park(timeout_ns);
  }
  if (stepping_) leave_step(env::StepResult::idle);  // sleeps until the next step
  if (keeps_time) scheduler_.timer_keeper_.store(Task::kAnyWorker, std::memory_order_seq_cst);
  // Whoever lowers the flag takes this worker off the count: a waker, or it itself.
  if (state_.exchange(State::awake, std::memory_order_seq_cst) == State::asleep) {
    scheduler_.sleeper_count_.fetch_sub(1, std::memory_order_seq_cst);
  } else {
    idle_rounds_ = 0;  // woken: there is something to find
  }
}

std::uint64_t Worker::poll_timeout_ns() const {
  const unsigned rounds = idle_rounds_ - std::min(idle_rounds_, kPollRounds);
  const unsigned doublings = std::min(rounds / 8, 5U);
  return std::min(kPollSleepMinNs << doublings, kPollSleepMaxNs);
}

// One of the sleeping workers wakes up for the next timer; it hands over when it finds work. True
// if this one does.
bool Worker::limit_by_timer(std::uint64_t& timeout_ns) {
  if (scheduler_.timers_.next_ns() == Timers::kNever) return false;
  int nobody = Task::kAnyWorker;
  if (!scheduler_.timer_keeper_.compare_exchange_strong(nobody, id_.value(),
                                                        std::memory_order_seq_cst)) {
    return false;
  }
  // Read after the keeper is known: see Scheduler::add_timer().
  const std::uint64_t next_ns = scheduler_.timers_.next_ns();
  if (next_ns != Timers::kNever) {
    const std::uint64_t now_ns = scheduler_.env_.now_ns();
    const std::uint64_t left_ns = next_ns > now_ns ? next_ns - now_ns : 1;
    timeout_ns = timeout_ns == 0 ? left_ns : std::min(timeout_ns, left_ns);
    was_poller_ = true;
  }
  return true;
}

namespace {

/// What a worker runs, without a name.
std::string_view kind_of(const Worker& worker, const Task* task) {
  if (worker.handler_depth > 0) return "a handler";
  return task != nullptr ? "a task" : "shoal itself";
}

/// The name of what it runs, if it takes no memory and no lock: the program may stand in malloc().
std::string_view plain_name_of(const Worker& worker, const Task* task) {
  if (worker.handler_depth == 0) return task != nullptr ? task->plain_name() : std::string_view();
  const std::string* const handler = worker.running_handler.shown();
  return handler != nullptr ? std::string_view(*handler) : std::string_view();
}

}  // namespace

std::size_t explain_fault(const env::Fault& fault, bool names, char* text, std::size_t size) {
  const Worker* const worker = current_worker();
  if (worker == nullptr || worker->current_ == nullptr) return 0;
  const Task* const task = worker->current_->task;
  const env::Stack stack = worker->current_->fiber.stack();
  const std::ptrdiff_t below = stack.bottom - static_cast<const std::byte*>(fault.address);
  const bool overflows = below > 0 && below <= std::ptrdiff_t{env::kGuardBytes};
  if (!overflows && !fault.ends_process) return 0;
  fmt::format_to_n_result<char*> result{};
  if (names) {
    const std::string_view name = plain_name_of(*worker, task);
    if (name.empty()) return 0;
    result = fmt::format_to_n(text, size, "shoal: error: its name: '{}'\n", name);
  } else if (overflows) {
    result = fmt::format_to_n(
        text, size,
        "shoal: error: the stack of {} on rank {}, worker {} has overflowed: its {} KiB are full. "
        "Choose a larger --stack-bytes, or recurse less.\n",
        kind_of(*worker, task), worker->scheduler().rank().value(), worker->id().value(),
        stack.size_bytes / 1024);
  } else {
    result = fmt::format_to_n(
        text, size, "shoal: error: {} at address {} in {} on rank {}, worker {}\n",
        fault.signal == SIGBUS ? "bus error (SIGBUS)" : "segmentation fault (SIGSEGV)",
        fault.address, kind_of(*worker, task), worker->scheduler().rank().value(),
        worker->id().value());
  }
  return std::min(result.size, size);
}

}  // namespace shoal::sched
