#include "sched/traced.hpp"

#include <shoal/detail/sched/dependencies.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/trace/probes.hpp>

#include "sched/parked.hpp"
#include "sched/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace shoal::sched::traced {

namespace {

trace::NameId name_id_of(const Task& task) noexcept {
  try {
    std::array<char, Task::kKeyTextMax> family;  // NOLINT(*-member-init): of each task
    if (const std::size_t length = task.write_family(family); length > 0) {
      return trace::detail::name_of(std::string_view(family.data(), length));
    }
    const std::string_view plain = task.plain_name();
    return plain.empty() ? trace::detail::name_of(name_of(task)) : trace::detail::name_of(plain);
  } catch (...) {
    return 0;  // no memory: the task has no name in the trace
  }
}

void describe(const Task& task) noexcept {
  std::array<std::int32_t, trace::Detail::kNumbersMax> numbers{};
  if (const std::size_t count = task.write_numbers(numbers); count > 0) {
    return trace::describe_task(task.trace_id, std::span(std::as_const(numbers)).first(count));
  }
  std::array<char, Task::kKeyTextMax> text;  // NOLINT(*-member-init): of each task
  const std::size_t length = task.write_key(text);
  if (length > 0) trace::describe_task(task.trace_id, std::string_view(text.data(), length));
}

}  // namespace

std::uint64_t current_cause() noexcept {
  const Worker* const worker = current_worker();
  return worker != nullptr ? worker->activity.traced_release : 0;
}

std::uint64_t running() noexcept {
  const Worker* const worker = current_worker();
  if (worker == nullptr) return 0;
  const std::uint64_t message = worker->activity.traced_message;
  if (message != 0) return message | trace::kMessageBit;
  if (worker->activity.handler_depth > 0) return 0;
  const Task* const task = worker->fibers.task();
  return task != nullptr && task->trace_id != trace::kHiddenTask ? task->trace_id : 0;
}

void needs(const Task& task, std::uint64_t other) noexcept {
  const bool is_traced = task.trace_id != 0 && task.trace_id != trace::kHiddenTask;
  if (is_traced && other != 0) trace::depends_on(task.trace_id, other);
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
  const std::uint64_t cause = current_cause();
  if (task.trace_id == 0) {
    const std::uint64_t join = task.join();
    if (cause == 0 && !task.bound) {  // one event for both
      task.trace_id = trace::new_id();
      trace::task_submitted(task.trace_id, join, name_id_of(task));
      return describe(task);
    }
    created(task);
    if (join != 0) trace::joined(task.trace_id, join);
  }
  trace::task_ready(task.trace_id, cause);
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
  if (task.begin_recorded()) name = name_id_of(task);
  trace::task_started(task.trace_id, task.priority, name);
}

void ended(std::uint64_t id) noexcept {
  if (id != 0 && id != trace::kHiddenTask) trace::task_ended(id);
}

void record_parked(const Task& task, std::string_view reason, std::uint64_t join) noexcept {
  if (task.trace_id != 0) trace::task_parked(task.trace_id, trace::detail::name_of(reason), join);
}

}  // namespace shoal::sched::traced

namespace shoal::sched {

void record_fulfilled(std::uint64_t join, std::uint64_t by) noexcept {
  if (!trace::on<trace::Category::task>() || join == 0) return;
  if (by == 0) by = traced::running();
  if (by != 0) trace::fulfilled(join, by);
}

void record_joined(Task& task, std::uint64_t join) noexcept {
  if (!trace::on<trace::Category::task>() || join == 0) return;
  if (task.trace_id == 0) traced::created(task);
  trace::joined(task.trace_id, join);
}

void record_place(const std::string& name, const std::source_location& place) noexcept {
  if (trace::on<trace::Category::task>()) trace::describe_place(name, place);
}

void record_colour(const std::string& name, std::uint32_t colour) noexcept {
  if (!trace::on<trace::Category::task>()) return;
  std::array<char, 8> text{};
  const auto end = fmt::format_to_n(text.data(), text.size(), "{:06x}", colour & 0xffffffU);
  trace::describe_name(trace::Fact::colour, name, {text.data(), std::min(end.size, text.size())});
}

std::uint64_t new_join() noexcept {
  return trace::on<trace::Category::task>() ? trace::new_id() : 0;
}

}  // namespace shoal::sched
