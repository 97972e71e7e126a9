#pragma once
// A worker as IdleWorkers sees it.

#include <shoal/detail/env/env.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace shoal::sched {

class TaskQueues;
class WorkerActivity;

struct IdleWorker {
  enum class State : int { awake, asleep };
  /// Rounds without work after which Progress::on_idle() is called; a worker makes more before it
  /// sleeps.
  static constexpr unsigned kAskAfterRounds = 8;

  /// Returns whether the worker sleeps, for reports. **Caller**: any thread.
  [[nodiscard]] bool is_asleep() const {
    return state.load(std::memory_order_relaxed) == State::asleep;
  }
  /// Called by the owner when a task has run or messages were handled.
  void found_work() { rounds = 0; }
  /// Returns true once after a short sleep, when another sleeper takes over the polling.
  /// **Caller**: the owner.
  [[nodiscard]] bool take_short_sleep() { return std::exchange(was_short, false); }

  const WorkerId id;
  const TaskQueues& queues;
  const WorkerActivity& activity;
  const std::unique_ptr<env::Parker> parker;
  std::atomic<State> state{State::awake};  // owner raises, owner or a waker lowers

  // The owner writes, once or twice for each sleep; reports read: staleness is harmless.
  std::atomic<std::uint64_t> slept_ns{0};         // in sleeps that have ended
  std::atomic<std::uint64_t> asleep_since_ns{0};  // 0: awake

  // The owner's.
  unsigned rounds = 0;                // steps without work
  std::uint64_t yields_since_ns = 0;  // the first yield among these
  bool was_short = false;             // the last sleep was a short one, to poll or for a timer
  bool polls = false;                 // sleeps for a short time, to poll
  bool keeps_time = false;            // wakes up for the first timer
};

}  // namespace shoal::sched
