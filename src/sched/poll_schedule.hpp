#pragma once
// When a busy worker polls for timers and messages.

#include <algorithm>

namespace shoal::sched {

/// Schedule of a busy worker's polls, by its steps. The number of steps to the next poll doubles
/// each time: it is small at first, since other ranks probably wait for a worker that was idle, and
/// messages of its first tasks should leave.
class PollSchedule {
 public:
  /// Counts a step, or a search for a task to run nested.
  void tick() { ++ticks_; }
  [[nodiscard]] bool is_due() const { return static_cast<int>(ticks_ - poll_at_) >= 0; }
  /// Makes the next poll due.
  void poll_next() { poll_at_ = ticks_; }
  void polled() {
    poll_at_ = ticks_ + poll_every_;
    poll_every_ = std::min(2 * poll_every_, kPollEvery);
  }
  /// Starts again, as the worker is idle and has just polled.
  void restart() {
    poll_at_ = ticks_ + kPollAfterIdle;
    poll_every_ = kPollSoon;
  }

 private:
  static constexpr unsigned kPollEvery = 16;     // ticks, at most
  static constexpr unsigned kPollAfterIdle = 3;  // one that finds a message, one for its task
  static constexpr unsigned kPollSoon = 2;

  unsigned ticks_ = 0;
  unsigned poll_at_ = 1;     // of these ticks
  unsigned poll_every_ = 1;  // ticks, then
};

}  // namespace shoal::sched
