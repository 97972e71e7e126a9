#pragma once
// Interface that a rank's workers call between tasks.

#include <shoal/rank.hpp>

#include <atomic>

namespace shoal::sched {

/// Progress of messages and of completion detection, driven by workers.
class Progress {
 public:
  /// Handles what has arrived; true if there was something. Returns at once while another worker
  /// of the rank is at it. `idle`: the caller has nothing else to do.
  virtual bool poll(bool idle) = 0;
  /// Whether a busy worker should poll(). Cheap, and now and then wrong: they do it anyway after a
  /// few tasks.
  [[nodiscard]] bool may_be_busy() const { return arrived_.load(std::memory_order_relaxed); }
  /// Something has arrived that no worker is handling.
  [[nodiscard]] virtual bool looks_busy() const = 0;
  /// Arrivals may come without a wake-up, and this worker may fetch them: it must not sleep long.
  [[nodiscard]] virtual bool must_poll(WorkerId worker) const = 0;
  /// Bytes are moving, but only while workers poll: they had better not sleep.
  [[nodiscard]] virtual bool is_streaming() const { return false; }
  /// Called when a worker of the rank runs out of work, after its last counts were made visible;
  /// true if that gave rise to something.
  virtual bool on_idle() = 0;
  /// Called before the first attempts of tasks on the rank run (docs/design/retries.md), perhaps by
  /// several of them: sends, fulfills and the like look for an attempt from now on.
  virtual void begin_attempts() {}
  /// Lets the next poll() look at the teams of the rank: a task has left an error in its scope. Any
  /// thread.
  void ask_teams() { asks_teams_.store(true, std::memory_order_seq_cst); }

 protected:
  ~Progress() = default;
  /// Something has arrived. Any thread.
  void raise_arrived() {
    if (!may_be_busy()) arrived_.store(true, std::memory_order_relaxed);
  }
  /// Before a look at what has arrived. seq_cst: the look comes after it.
  void lower_arrived() {
    if (may_be_busy()) arrived_.exchange(false, std::memory_order_seq_cst);
  }
  /// Whether poll() is to look at the teams. relaxed: workers poll again.
  [[nodiscard]] bool asks_teams() const { return asks_teams_.load(std::memory_order_relaxed); }
  /// Before a look at them. seq_cst: the look comes after it.
  void lower_asks_teams() { asks_teams_.exchange(false, std::memory_order_seq_cst); }

 private:
  std::atomic<bool> arrived_{false};
  std::atomic<bool> asks_teams_{false};
};

}  // namespace shoal::sched
