#include "sched/inspector.hpp"

#include "sched/memory_bound.hpp"
#include "sched/worker.hpp"

#include <algorithm>

namespace shoal::sched {

int Inspector::active_worker_count() const {
  return static_cast<int>(std::ranges::count_if(
      workers_, [](const auto& worker) { return worker->activity.running_task.shows(); }));
}

std::uint64_t Inspector::tasks_run() const {
  std::uint64_t total = 0;
  for (const auto& worker : workers_) {
    total += worker->activity.tasks_run.load(std::memory_order_relaxed);  // a report
  }
  return total;
}

std::vector<std::uint64_t> Inspector::begun() const {
  std::vector<std::uint64_t> counts;
  counts.reserve(workers_.size());
  for (const auto& worker : workers_) {
    counts.push_back(worker->activity.begun.load(std::memory_order_relaxed));  // a report
  }
  return counts;
}

std::size_t Inspector::stack_count() const { return fibers_.count(); }

void Inspector::ask() {
  ++asked_;
  for (const auto& worker : workers_) {
    worker->activity.ask(asked_, worker->idle.is_asleep());
    worker->scheduler().idle_workers().wake(worker->id());
  }
}

bool Inspector::all_answered() const {
  return std::ranges::all_of(
      workers_, [this](const auto& worker) { return worker->activity.has_answered(asked_); });
}

namespace {

/// Adds a waiter, and the tasks that wait below it on its stack.
void add_parked(const Parked& one, const WaitTexts& texts, WorkerState& state) {
  state.parked.push_back({one.name(), texts.where(one), texts.place_of(one.task), one.since_ns,
                          one.is_main(), one.polls, one.due_ns});
  for (const Nesting* outer = one.outer; outer != nullptr; outer = outer->outer) {
    state.parked.push_back(
        {name_of(outer->task), texts.where(*outer), "", one.since_ns, false, one.polls});
  }
}

}  // namespace

std::vector<WorkerState> Inspector::states() const {
  const std::vector<const ParkedList*> lists = scheduler_.waiting().all();
  std::vector<const Task*> running;
  for (const auto& worker : workers_) {
    worker->activity.running_task.visit([&](const Task& task) { running.push_back(&task); });
  }
  WaitTexts texts(lists, running);
  for (const auto& worker : workers_) {
    worker->activity.running_task.visit([&texts](const Task& task) { texts.add(task); });
  }
  std::vector<WorkerState> states;
  states.reserve(workers_.size());
  for (const auto& worker : workers_) states.push_back(state_of(*worker, texts));
  // Threads of the program wait on no worker.
  lists.back()->for_each([&](const Parked& one) { add_parked(one, texts, states.front()); });
  return states;
}

std::vector<WorkerState> Inspector::states_here() {
  ++asked_;
  for (const auto& worker : workers_) {
    worker->activity.ask(asked_, worker->idle.is_asleep());
    worker->activity.answer();
  }
  // Work with a cost is in the middle of its step in a simulated world.
  std::vector<WorkerState> result = states();
  const WaitTexts without_places({});
  for (std::size_t i = 0; i < result.size(); ++i) {
    workers_[i]->activity.add_running(result[i], without_places);
  }
  return result;
}

WorkerState Inspector::state_of(Worker& worker, const WaitTexts& texts) const {
  WorkerActivity& activity = worker.activity;
  WorkerState state;
  state.worker = worker.id();
  state.answered = activity.has_answered(asked_);
  state.begun = activity.begun.load(std::memory_order_relaxed);
  if (state.answered) {
    state.asleep = activity.slept();
  } else {
    activity.add_running(state, texts);
  }
  state.throttled = worker.queues.throttled();
  scheduler_.waiting().list(worker.id().value()).for_each([&](const Parked& one) {
    add_parked(one, texts, state);
  });
  state.queues = worker.queues.lengths();
  return state;
}

bool Inspector::holds_work() const {
  const MemoryBoundLimit* const limit = scheduler_.memory_bound_limit();
  if (limit != nullptr && limit->state(scheduler_).held > 0) return true;
  return std::ranges::any_of(workers_, [this](const auto& worker) {
    const Task* const task = worker->fibers.task();
    return worker->queues.lengths().total() > 0 || (task != nullptr && !task->is_main()) ||
           scheduler_.waiting().list(worker->id().value()).holds_counted();
  });
}

namespace {

WorkerGlance glance_at(Worker& worker, bool with_names) {
  WorkerGlance glance;
  WorkerActivity& activity = worker.activity;
  glance.asleep = worker.idle.is_asleep();
  glance.in_task = activity.running_task.shows();
  glance.in_handler = activity.running_handler.shows();
  if (with_names && glance.in_task) {
    activity.running_task.visit(
        [&glance](const Task& task) { glance.task = std::string(task.plain_name()); });
  }
  glance.tasks_run = activity.tasks_run.load(std::memory_order_relaxed);  // a report
  glance.slept_ns = worker.idle.slept_ns.load(std::memory_order_relaxed);
  glance.asleep_since_ns = worker.idle.asleep_since_ns.load(std::memory_order_relaxed);
  glance.ready = worker.queues.lengths().total();
  glance.parked = worker.scheduler().waiting().list(worker.id().value()).size();
  return glance;
}

}  // namespace

std::vector<WorkerGlance> glance_at(Scheduler& scheduler, bool with_names) {
  std::vector<WorkerGlance> all;
  for (env::Steppable* const one : scheduler.steppables()) {
    all.push_back(glance_at(static_cast<Worker&>(*one), with_names));
  }
  return all;
}

}  // namespace shoal::sched
