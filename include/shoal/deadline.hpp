#pragma once
// A time until which the work of a team or of a task group may take.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/timers.hpp>
#include <shoal/team.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace shoal {

class TaskGroup;

/// Cancels a team or a task group when a time has passed, unless it is destroyed before: around a
/// wait(), say. In virtual time in the simulator. Other waits have wait_for() and wait_until().
class Deadline final {
 public:
  /// Sets the deadline, a std::chrono::duration from now. One member of the team suffices.
  /// **Caller**: any thread. **Lifetime**: within the team's.
  template <sched::Duration D>
  Deadline(Team& team, D duration, std::string reason = "its deadline has passed")
      : Deadline(team, sched::to_ns(duration), std::move(reason), 0) {}
  /// Sets the deadline of a group, a std::chrono::duration from now; after wait(), is_cancelled()
  /// says whether it was met. **Caller**: any thread. **Lifetime**: within the group's.
  template <sched::Duration D>
  Deadline(TaskGroup& group, D duration) : Deadline(group, sched::to_ns(duration), 0) {}
  /// **Blocks**: until a cancellation has begun that is due now.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  class Alarm;
  Deadline(Team& team, std::uint64_t duration_ns, std::string reason, int /*of_ns*/);
  Deadline(TaskGroup& group, std::uint64_t duration_ns, int /*of_ns*/);
  Deadline(sched::Scheduler& scheduler, std::uint64_t duration_ns, Function<void()> cancel);
  const std::shared_ptr<Alarm> alarm_;
};

}  // namespace shoal
