#pragma once
// Sleeping and waking of a rank's workers, and the timers that wake them.

#include <shoal/detail/env/env.hpp>
#include <shoal/detail/sched/progress.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sched/timers.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::env {
class Crowding;
}

namespace shoal::sched {

struct IdleWorker;

/// Idle workers of a rank: a worker without work pauses a few times, yields a few times, and sleeps
/// until it is woken. No wake-up is lost: the proof is beside fall_asleep(), with all code that it
/// rests on.
class IdleWorkers {
 public:
  /// `oversubscribed`: more workers than CPUs, which do not spin.
  IdleWorkers(env::Env& env, bool oversubscribed);
  IdleWorkers(const IdleWorkers&) = delete;
  IdleWorkers& operator=(const IdleWorkers&) = delete;

  /// Adds a worker, before the first step, in the order of their numbers.
  void add(IdleWorker& worker) { workers_.push_back(&worker); }

  // --- Any thread. Never block.

  /// Wakes a sleeping worker, if any, preferring `preferred`.
  void wake_one(int preferred = Task::kAnyWorker) {
    if (sleeper_count_.load(std::memory_order_seq_cst) != 0) wake_a_sleeper(preferred);
  }
  /// Wakes exactly this worker.
  void wake(WorkerId worker);
  /// Makes a worker that finds no work call Progress::on_idle() (again).
  void look_again();
  void request_stop();
  [[nodiscard]] bool stopping() const { return stopping_.load(std::memory_order_seq_cst); }
  void add_timer(Timer& timer, std::uint64_t due_ns);
  /// Removes a timer; returns false if it has expired or is just expiring.
  bool remove_timer(Timer& timer) { return timers_.remove(timer); }

  // --- The workers, each for itself.

  /// Calls the timers that are due; false if none was.
  bool expire_timers();
  /// Whether look_again() was called since it last returned true.
  [[nodiscard]] bool take_look_again();
  /// Pauses or yields; returns false when that has been done often enough, and the worker is to
  /// sleep. `must_poll`: see Progress.
  [[nodiscard]] bool pause(IdleWorker& me, const Progress& progress, bool must_poll);
  /// Pauses or yields, for a worker that would park the task that it runs; returns false when that
  /// has been done often enough. `must_poll`: see Progress.
  [[nodiscard]] bool pause_in_task(unsigned rounds, bool must_poll);
  /// Sleeps until woken, or for a short time if this is the worker that polls, unless there is
  /// something to do. `stepping`: driven by step(), which returns between this and wake_up().
  void fall_asleep(IdleWorker& me, const Progress& progress, bool must_poll, bool stepping);
  void wake_up(IdleWorker& me);

 private:
  [[nodiscard]] unsigned spin_rounds() const;
  void wake_a_sleeper(int preferred);
  bool wake_if_asleep(IdleWorker& worker);
  [[nodiscard]] bool sees_work(const IdleWorker& me, const Progress& progress) const;
  [[nodiscard]] bool limit_by_timer(IdleWorker& me, std::uint64_t& timeout_ns);

  env::Env& env_;
  const bool oversubscribed_;
  std::vector<IdleWorker*> workers_;
  Timers timers_;
  std::atomic<int> timer_keeper_{Task::kAnyWorker};  // the sleeping worker that wakes up for them
  std::atomic<int> sleeper_count_{0};                // workers whose state is asleep
  std::atomic<bool> poller_taken_{false};            // one sleeper at a time wakes up to poll
  std::atomic<bool> look_again_{false};  // set by look_again(), lowered before on_idle()
  std::atomic<bool> stopping_{false};
  const std::shared_ptr<env::Crowding> crowding_;  // of all workers
};

}  // namespace shoal::sched
