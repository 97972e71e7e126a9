// State of the calling thread: its worker, and the task that it runs.

#include <shoal/compute.hpp>
#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sched/scheduler.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "env/host.hpp"
#include "sched/live.hpp"
#include "sched/worker.hpp"

namespace shoal::sched {

namespace {

// The one thread-local that says where a thread is in the library.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
[[gnu::tls_model("initial-exec")]] constinit thread_local Worker* t_worker = nullptr;

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit thread_local int t_handlers = 0;

Worker* current_worker() {
  asm volatile("" ::: "memory");  // nor does the compiler keep the answer to an earlier call
  return t_worker;
}

void set_current_worker(Worker* worker) { t_worker = worker; }

// Here, so that it takes one call. Not inlined: see current_worker().
[[gnu::noinline]] int Scheduler::count_slot() const {
  asm volatile("" ::: "memory");
  const Worker* const me = t_worker;
  return me != nullptr && &me->scheduler() == this ? me->id().value() : options_.worker_count;
}

namespace {

Task* task_of(const Worker& worker) {
  if (worker.activity.handler_depth > 0) {
    return worker.activity.attempt != nullptr ? &worker.activity.attempt->task() : nullptr;
  }
  return worker.fibers.task();
}

}  // namespace

Task* current_task() {
  const Worker* const worker = current_worker();
  return worker == nullptr ? nullptr : task_of(*worker);
}

bool on_worker() { return current_worker() != nullptr; }

TaskScope* current_scope() {
  const Worker* const worker = current_worker();
  if (worker != nullptr && worker->activity.handler_depth > 0)
    return worker->activity.handler_scope;
  const Task* const task = current_task();
  return task == nullptr ? nullptr : task->scope;
}

namespace {

[[noreturn]] void end_with_thread() {
  const Worker* const worker = current_worker();
  const Task* const task = current_task();
  const std::string activity = in_handler() ? "a handler" : task != nullptr ? task->name() : "";
  env::write_to_standard_error(fmt::format(
      "shoal: error: {} called pthread_exit(), or its thread was cancelled{}: a thread of shoal "
      "runs other tasks as well; return, or throw an exception\n",
      activity.empty() ? "a thread of the program" : activity,
      worker != nullptr ? fmt::format(" (rank {}, worker {})", worker->scheduler().rank().value(),
                                      worker->id().value())
                        : ""));
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

// C++ sees the unwinding of a thread as an exception without an object.
std::exception_ptr caught_exception() {
  std::exception_ptr error = std::current_exception();
  if (error == nullptr) end_with_thread();
  return error;
}

bool worker_runs_handler() {
  const Worker* worker = current_worker();
  return worker != nullptr && worker->activity.handler_depth > 0;
}

bool in_suspendable_task() {
  if (in_handler()) return false;
  const Task* task = current_task();
  return task != nullptr && task->kind == TaskKind::local;
}

bool in_main_function() { return in_suspendable_task() && current_task()->is_main(); }

Scheduler& current_scheduler(const char* what, const char* remedy) {
  Worker* const worker = current_worker();
  SHOAL_CHECK(
      worker != nullptr,
      "{} was made or used on a thread outside shoal's workers, or after run() has returned: {}",
      what, remedy);
  return worker->scheduler();
}

TaskScope& current_scope(Scheduler& scheduler) {
  const Worker* const worker = current_worker();
  if (worker == nullptr) {
    check_live(scheduler, "a future or a lock");
    return scheduler.scope();
  }
  const Task* const task = task_of(*worker);
  if (task == nullptr || task->is_main()) return scheduler.scope();
  return &worker->scheduler() == &scheduler ? *task->scope : scheduler.scope();
}

bool spend(const Cost& cost) {
  Worker* worker = current_worker();
  return worker == nullptr || worker->spend(cost);
}

bool costs_count() {
  const Worker* worker = current_worker();
  return worker != nullptr && worker->scheduler().env().charges();
}

bool poll_missed() {
  constexpr int kMissesPerStep = 100;
  Worker* const worker = current_worker();
  if (worker == nullptr || !worker->is_stepping()) return false;
  if (++worker->missed_polls % kMissesPerStep == 0) static_cast<void>(worker->spend({}));
  return false;
}

}  // namespace shoal::sched
