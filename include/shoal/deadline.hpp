#pragma once
// A time until which the work of a team may take.

#include <shoal/detail/sched/timers.hpp>
#include <shoal/team.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace shoal {

/// Cancels a team when a time has passed, unless it is destroyed before: around a wait(), say.
/// In virtual time in the simulator. Other waits have wait_for() and wait_until().
class Deadline final {
 public:
  /// Sets the deadline, a std::chrono::duration from now. One member of the team suffices.
  /// **Caller**: any thread. **Lifetime**: within the team's.
  template <sched::Duration D>
  Deadline(Team& team, D duration, std::string reason = "its deadline has passed")
      : Deadline(team, sched::to_ns(duration), std::move(reason), 0) {}
  /// **Blocks**: until a cancellation has begun that is due now.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  class Alarm;
  Deadline(Team& team, std::uint64_t duration_ns, std::string reason, int /*of_ns*/);
  const std::shared_ptr<Alarm> alarm_;
};

}  // namespace shoal
