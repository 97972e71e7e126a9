#include <shoal/detail/sched/long_task.hpp>

#include <shoal/detail/trace/probes.hpp>

#include <fmt/format.h>

#include <utility>

#include "sched/traced.hpp"
#include "sched/worker.hpp"
#include "trace/shared_call.hpp"

namespace shoal::sched {

namespace {

// Handlers run above the frames of the task: see Worker::poll_until(). A task with locals tells
// them before handlers run, which only a wait does.
bool may_poll(const Worker& worker) {
  if (sync::watches_strands()) return false;  // a handler has a strand of its own
  const Task* const task = worker.fibers.task();
  return task != nullptr && task->find_local<TaskLocal>() == nullptr &&
         __builtin_frame_address(0) > worker.fibers.current().nests_above;
}

}  // namespace

[[gnu::noinline]] void between_pieces() {
  const sync::Quiet quiet;
  Worker* const worker = current_worker();
  if (worker == nullptr || worker->activity.handler_depth > 0) return;
  if (worker->is_called() && may_poll(*worker)) static_cast<void>(worker->poll_in_task());
  if (worker->is_stepping()) worker->leave_step(env::StepResult::worked);
}

void drop_newest(FunctionRef<bool(const Task&)> is_it) {
  const sync::Quiet quiet;
  Worker* const worker = current_worker();
  if (worker == nullptr || worker->activity.handler_depth > 0) return;
  Task* const task = worker->queues.deque.try_pop_if_any();
  if (task == nullptr) return;
  if (!is_it(*task)) {
    worker->queues.deque.push(task);
    worker->scheduler().wake_one();  // one that fell asleep meanwhile has not seen it
    return;
  }
  TaskScope* const scope = task->scope;
  delete task;
  // The caller is a task of this scope, or the main function: this one is not the last.
  if (scope != nullptr) scope->counts.task_finished(worker->id());
}

void show_in_trace(Task& task, std::uint64_t cause, std::string_view key) noexcept {
  if (!trace::on<trace::Category::task>()) return;
  traced::created(task);
  if (!key.empty()) trace::describe_task(task.trace_id, key);
  trace::task_ready(task.trace_id, cause);
  traced::started(task);
}

namespace {

/// Sets the innermost call of the fiber; returns the one before. Not for the search for races: the
/// strands of the program's tasks call it one after the other on one stack.
[[gnu::noinline]] __attribute__((no_sanitize("thread"))) const LongCall* replace_call(
    SchedulingFiber& fiber, const LongCall* call) {
  const LongCall* const before = fiber.in_call;
  fiber.in_call = call;
  return before;
}

}  // namespace

LongCall::LongCall(const char* call, std::string_view name) noexcept : call_(call), name_(name) {
  const Worker* const worker = current_worker();
  if (worker == nullptr || worker->activity.handler_depth > 0) return;
  is_known_ = true;
  outer_ = replace_call(worker->fibers.current(), this);
  if (!trace::on<trace::Category::task>()) [[likely]]
    return;
  span_ = trace::new_id();
  trace::detail::record(trace::Kind::span_begin, span_, trace::kSharedCall,
                        trace::detail::name_of(name_.empty() ? call_ : name_));
}

// The task may have gone on on another worker, on the same stack.
LongCall::~LongCall() {
  if (is_known_) replace_call(current_worker()->fibers.current(), outer_);
  if (span_ != 0) [[unlikely]]
    trace::detail::record(trace::Kind::span_end, span_, 0, 0);
}

std::string LongCall::describe() const {
  if (name_.empty() || name_ == call_) return call_;
  return fmt::format("{} '{}'", call_, name_);
}

}  // namespace shoal::sched
