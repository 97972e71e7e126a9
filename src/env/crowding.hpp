#pragma once
// Yields that notice programs that compute on the same processors.

#include <atomic>
#include <cstdint>

namespace shoal::env {

class Env;

/// A yield to a program that computes takes a turn of the scheduler, some milliseconds. A thread
/// that only waits had better sleep then: it runs soon after it wakes up.
class Crowding {
 public:
  /// Env::yield(), timed; when it ended. Any thread. Blocks: as long as others have their turn.
  std::uint64_t yield(Env& env);
  /// Yields have taken turns of the scheduler, a moment ago. Any thread. Never blocks. Cost: a
  /// load; where they have, a look at the clock.
  [[nodiscard]] bool is_crowded(Env& env) const;

 private:
  // relaxed, both: hints
  std::atomic<bool> last_was_long_{false};
  std::atomic<std::uint64_t> until_ns_{0};  // 0: never yet
};

}  // namespace shoal::env
