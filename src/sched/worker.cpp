#include "sched/worker.hpp"

#include <shoal/detail/trace/probes.hpp>

#include "env/start_thread.hpp"
#include "sched/memory_bound.hpp"
#include "sched/run_task.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::sched {

namespace {

trace::Track make_track(const Scheduler& scheduler, WorkerId worker) {
  trace::Recorder* const recorder = scheduler.options().recorder;
  if (recorder == nullptr) return {};
  return recorder->make_track(scheduler.rank().value(), worker.value(),
                              fmt::format("worker {}", worker.value()));
}

}  // namespace

Worker::Worker(Scheduler& scheduler, WorkerId id, FiberPool& pool, TaskQueues::All& all_queues)
    : queues(all_queues, id, static_cast<unsigned>(scheduler.env().random_seed())),
      fibers(pool, activity),
      idle{id, queues, activity, scheduler.env().make_parker()},
      scheduler_(scheduler),
      id_(id) {
  scheduler.idle_workers().add(idle);
}

Worker::~Worker() = default;

std::string Worker::name() const {
  constexpr std::size_t kLongest = 15;  // of a thread's name
  const std::string name = fmt::format("r{} w{}", scheduler_.rank().value(), id_.value());
  const std::string full = "shoal " + name;
  return full.size() <= kLongest ? full : name;
}

std::string Worker::purpose() const {
  return fmt::format("worker {} of rank {}", id_.value(), scheduler_.rank().value());
}

// --- the thread, and the steps of an environment with one thread

void Worker::run() {
  if (scheduler_.options().on_worker_start) scheduler_.options().on_worker_start(id_);
  set_current_worker(this);
  begin();
  fibers.enter();  // returns when the loop has ended
  end();
  set_current_worker(nullptr);
}

env::StepResult Worker::step() {
  set_current_worker(this);
  stepping_ = true;
  if (!fibers.have_begun()) {
    trace::watch_steps();
    begin();
  }
  track_.enter();
  fibers.enter();
  if (scheduler_.idle_workers().stopping()) {
    end();
    step_result_ = env::StepResult::stopped;
  }
  set_current_worker(nullptr);
  return step_result_;
}

void Worker::begin() {
  float_control_ = FloatControl::here();
  track_ = make_track(scheduler_, id_);
  track_.enter();
  note_thread();
  fault_watch_.emplace(&explain_fault);
  fibers.begin(id_.value() == 0);  // with a spare fiber for the main function
}

void Worker::end() {
  fibers.end_idle();
  fault_watch_.reset();
  note_thread();
  track_ = {};
}

// Virtual time has no threads.
void Worker::note_thread() const {
  if (stepping_ || !trace::on<trace::Category::sched>()) return;
  const env::ThreadTimes times = env::times_of_this_thread();
  if (!times.known) return;
  trace::thread_counter(trace::detail::name_of(trace::kRanName), static_cast<double>(times.ran_ns));
  trace::thread_counter(trace::detail::name_of(trace::kKeptWaitingName),
                        static_cast<double>(times.kept_waiting_ns));
}

[[gnu::noinline]] void Worker::leave_step(env::StepResult result) {
  step_result_ = result;
  if (!scheduler_.idle_workers().stopping()) fibers.leave();
}

// The next step continues after this call: until then the worker is busy.
bool Worker::spend(const Cost& cost) {
  if (!scheduler_.env().charges()) return true;
  const sync::Quiet quiet;
  const bool really = scheduler_.env().charge(cost);
  leave_step(env::StepResult::worked);
  return really;
}

[[gnu::noinline]] void Worker::observe(env::Happening what, const Task* task,
                                       const std::string& where) {
  if (task == nullptr || !scheduler_.env().observes()) return;
  scheduler_.env().observe(
      what, where.empty() ? name_of(*task) : fmt::format("{}' in '{}", name_of(*task), where));
}

// --- the loop

void Worker::enter_loop(void* /*unused*/) {
  Worker* worker = current_worker();
  // The fiber was entered because a task was suspended, which ended a step.
  if (worker->fibers.finish_switch()) worker->after_work();
  while (!worker->scheduler_.idle_workers().stopping()) worker = &worker->step_once();
  current_worker()->fibers.end_current();
}

Worker& Worker::after_work() {
  idle.found_work();
  if (stepping_) leave_step(env::StepResult::worked);
  return *this;
}

// Flat: all but find_work() is the cost of a task.
[[gnu::flatten]] Worker& Worker::step_once() {
  if (Task* task = quick_task(); task != nullptr) return execute(task);
  return find_work();
}

// Task that a busy worker runs most of the time: one of its own deque, as long as nothing else
// needs attention.
Task* Worker::quick_task() {
  if (is_called() || !queues.has_only_deque()) return nullptr;
  return queues.deque.try_pop();
}

// Polls timers and messages on a busy worker; returns whether that may have made a task.
bool Worker::poll_if_due() {
  Progress& progress = scheduler_.progress();
  const bool in_turn = polls_.is_due();
  if (in_turn) polls_.polled();
  const bool expired = in_turn && scheduler_.idle_workers().expire_timers();
  return ((in_turn || progress.looks_busy()) && progress.poll(false)) || expired;
}

[[gnu::noinline]] bool Worker::poll_in_task() noexcept {
  if (queues.throttled() || activity.is_asked()) return false;
  const BesideTask beside(*this);
  poll_if_due();
  if (idle.take_short_sleep()) scheduler_.wake_one();
  return true;
}

// Handlers run above the task's frames, so most of the stack must be free. Timers and teams
// have their turn as in the loop, since tasks that wait again and again may never come back there.
[[gnu::noinline]] bool Worker::poll_until(FunctionRef<bool()> is_over) noexcept {
  if (fibers.task()->is_main()) fibers.task()->before_parking();
  if (sync::watches_strands()) return is_over();  // a handler has a strand of its own
  if (__builtin_frame_address(0) <= fibers.current().nests_above) return is_over();
  const BesideTask beside(*this);
  Progress& progress = scheduler_.progress();
  unsigned rounds = 0;
  while (!is_over()) {
    if (activity.is_asked() || queues.sees_work()) return false;
    polls_.tick();
    const bool did = polls_.is_due() ? poll_if_due() : progress.poll(true);
    if (did) {
      if (stepping_) leave_step(env::StepResult::worked);
      continue;
    }
    if (stepping_) return is_over();
    if (!scheduler_.idle_workers().pause_in_task(++rounds, progress.must_poll(id_))) return false;
  }
  return true;
}

[[gnu::noinline]] Worker& Worker::find_work() {
  if (activity.is_asked()) activity.answer();
  float_control_.apply();  // for handlers: the last task may have changed it
  const bool progressed = poll_if_due();
  if (Task* task = queues.next(); task != nullptr) {
    // Busy from now on: another sleeper takes over polling.
    if (idle.take_short_sleep()) scheduler_.wake_one();
    return execute(task);
  }
  if (progressed || poll_idle()) return after_work();
  rest();
  return *this;
}

// Called when there is no task: polls; returns whether that may have made one.
bool Worker::poll_idle() {
  IdleWorkers& all = scheduler_.idle_workers();
  if (scheduler_.progress().poll(true) || all.expire_timers()) return true;
  // Called once when this worker has had no work for a moment. Other workers call it themselves
  // after their work, and look_again() requests it for changes outside the workers.
  const bool looks_again = all.take_look_again();
  if (!looks_again && idle.rounds != IdleWorker::kAskAfterRounds && !stepping_) return false;
  return scheduler_.progress().on_idle();
}

void Worker::rest() {
  IdleWorkers& all = scheduler_.idle_workers();
  Progress& progress = scheduler_.progress();
  ++idle.rounds;
  const bool must_poll = progress.must_poll(id_);
  if (must_poll) polls_.restart();
  if (!stepping_ && all.pause(idle, progress, must_poll)) return;
  all.fall_asleep(idle, progress, must_poll, stepping_);
  if (stepping_) leave_step(env::StepResult::idle);  // sleeps until the next step
  all.wake_up(idle);
}

// The task may end on another worker, which then continues the caller's fiber.
Worker& Worker::execute(Task* task) {
  if (task->kind >= TaskKind::resumed) [[unlikely]]
    return execute_other(task);
  WorkerActivity::count(activity.begun);
  return run_to_end(*this, task, nullptr).after_work();
}

[[gnu::noinline]] Worker& Worker::execute_other(Task* task) {
  if (task->kind == TaskKind::resumed) {
    task->run();  // lives on the fiber it resumes: not ours to delete
    return current_worker()->after_work();
  }
  // Held back: this worker looks for another task.
  if (!scheduler_.memory_bound_limit()->try_begin(scheduler_, *task)) return after_work();
  return execute(task);
}

}  // namespace shoal::sched
