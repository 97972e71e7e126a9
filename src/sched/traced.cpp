#include "sched/traced.hpp"

#include <shoal/detail/trace/probes.hpp>

#include "sched/parked.hpp"
#include "sched/worker.hpp"

#include <array>

namespace shoal::sched::traced {

namespace {

trace::NameId name_id_of(const Task& task) noexcept {
  try {
    const std::string_view plain = task.plain_name();
    return plain.empty() ? trace::detail::name_of(name_of(task)) : trace::detail::name_of(plain);
  } catch (...) {
    return 0;  // no memory: the task has no name in the trace
  }
}

void describe(const Task& task) noexcept {
  std::array<char, Task::kKeyTextMax> text{};
  const std::size_t length = task.write_key(text);
  if (length > 0) trace::describe_task(task.trace_id, std::string_view(text.data(), length));
}

}  // namespace

std::uint64_t current_cause() noexcept {
  const Worker* const worker = current_worker();
  return worker != nullptr ? worker->activity.traced_release : 0;
}

void created(Task& task) noexcept {
  task.trace_id = trace::new_id();
  const auto bound_to = static_cast<std::uint64_t>(task.bound ? task.worker + 1 : 0);
  trace::task_created(task.trace_id, bound_to, name_id_of(task));
  describe(task);
}

void submitted(Task& task) noexcept {
  if (task.is_main() || task.trace_id == trace::kHiddenTask)
    return;  // the main function begins by itself
  if (task.trace_id == 0) created(task);
  trace::task_ready(task.trace_id, current_cause());
}

void started(Task& task) noexcept {
  if (Worker* const worker = current_worker(); worker != nullptr) {
    worker->activity.traced_release = 0;
  }
  if (!trace::on<trace::Category::task>() || task.trace_id == trace::kHiddenTask) return;
  trace::NameId name = 0;
  if (task.trace_id == 0) {
    task.trace_id = trace::new_id();
    name = name_id_of(task);
  }
  trace::task_started(task.trace_id, task.priority, name);
}

void ended(std::uint64_t id) noexcept {
  if (id != 0 && id != trace::kHiddenTask) trace::task_ended(id);
}

void record_parked(const Task& task, std::string_view reason) noexcept {
  if (task.trace_id != 0) trace::task_parked(task.trace_id, trace::detail::name_of(reason));
}

}  // namespace shoal::sched::traced
