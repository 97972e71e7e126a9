#pragma once
// Probes of tasks. Callers of those out of line have asked trace::on() or trace::is_watched().

#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/trace/probes.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal::sched::traced {

/// The message that has left, whose memory the calling thread gives back now, makes tasks ready;
/// else 0: the recording knows the task or handler that runs.
[[nodiscard]] std::uint64_t current_cause() noexcept;

/// Identifier, for descriptions, of the message that is handled here, or of the task that runs; 0:
/// none.
[[nodiscard]] std::uint64_t running() noexcept;
/// Records that the task, which has been created, needs `other`, a task or a message.
void needs(const Task& task, std::uint64_t other) noexcept;

/// Records a task that waits for something before it is submitted.
void created(Task& task) noexcept;
/// Records that the task is queued.
void submitted(Task& task) noexcept;
/// Gives an identifier to a task that has none: the main function, or one that was submitted while
/// nothing was recorded.
void started(Task& task) noexcept;
/// Records the end of a task. `id` 0: it is not recorded.
void ended(std::uint64_t id) noexcept;
void record_parked(const Task& task, std::string_view reason, std::uint64_t join) noexcept;
/// `join`: of what it waits for, see Waitable::join().
inline void parked(const Task* task, std::string_view reason, std::uint64_t join) noexcept {
  if (task != nullptr && trace::on<trace::Category::task>()) [[unlikely]]
    record_parked(*task, reason, join);
}
/// Records that a parked task was woken: it is queued, to be resumed.
inline void woken(const Task* task) noexcept {
  if (task != nullptr && task->trace_id != 0) [[unlikely]]
    trace::task_ready(task->trace_id, current_cause());
}
inline void resumed(const Task* task) noexcept {
  if (task != nullptr && task->trace_id != 0) [[unlikely]]
    trace::task_resumed(task->trace_id);
}

}  // namespace shoal::sched::traced
