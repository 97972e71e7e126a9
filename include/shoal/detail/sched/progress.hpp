#pragma once
// Interfaces that a rank's workers call between tasks.

#include <shoal/rank.hpp>

#include <atomic>

namespace shoal::sched {

/// Message progress, driven by workers: implemented by the am layer.
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

 private:
  std::atomic<bool> arrived_{false};
};

/// Completion detection, driven by idle workers: implemented by the term layer.
class IdleListener {
 public:
  /// Called when a worker of the rank runs out of work, after its last counts were made visible;
  /// true if that gave rise to something.
  virtual bool on_idle() = 0;

 protected:
  ~IdleListener() = default;
};

}  // namespace shoal::sched
