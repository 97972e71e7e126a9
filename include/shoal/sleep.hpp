#pragma once
// Time, for tasks.

#include <shoal/detail/sched/park.hpp>

#include <cstdint>
#include <memory>

namespace shoal {

namespace sched {
void sleep_ns(std::uint64_t duration_ns);
/// Waitable of sleep_for(); for one waiter.
[[nodiscard]] std::shared_ptr<Waitable> make_sleep(Scheduler& scheduler, std::uint64_t duration_ns);
}  // namespace sched

/// Parks the task for at least `duration`, a std::chrono::duration; in a simulated world, for that
/// much virtual time. The task counts as running meanwhile. **Caller**: a task or the main
/// function. **Errors**: CheckError elsewhere; when the world has failed, CancelledError, in the
/// main function TaskError once everything has ended.
template <sched::Duration D>
void sleep_for(D duration) {
  sched::sleep_ns(sched::to_ns(duration));
}

/// Lets the other ready tasks of this worker run before the caller continues. **Caller**,
/// **Errors**: as sleep_for(): a task that yields in a loop ends when the world has failed.
inline void yield() { sched::yield(); }

}  // namespace shoal
