#include "sched/worker_figures.hpp"

#include "sched/worker.hpp"

namespace shoal::sched {

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
