#pragma once
// Activity of a worker, visible from outside.

#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/inspectable.hpp>

#include "sched/parked.hpp"
#include "sched/worker_state.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace shoal::sched {

class Attempt;

/// Counts and names of a worker's tasks and handlers, and its answer to an inspector. An inspector
/// raises asked_ and then wakes the worker; one that is about to sleep looks at it like at a queue:
/// seq_cst, see IdleWorkers::fall_asleep().
class WorkerActivity {
 public:
  // The owner's.
  int handler_depth = 0;
  TaskScope* handler_scope = nullptr;  // see HandlerMark; nullptr: the world's
  Attempt* attempt = nullptr;          // that runs, under a HandlerMark
  std::uint64_t traced_message = 0;    // its handler runs; see traced_message()
  // Message whose memory is given back, until a handler or task begins: its event may end behind
  // its HandlerMark. See HandlerMark::kReleaseBit.
  std::uint64_t traced_release = 0;
  // The owner writes; reports read: staleness is harmless.
  std::atomic<std::uint64_t> tasks_run{0};
  std::atomic<std::uint64_t> begun{0};            // tasks, parts of tasks, handlers
  std::atomic<std::uint64_t> begun_uncounted{0};  // handlers of control messages, polls
  sync::Inspectable<const Task> running_task;
  sync::Inspectable<const std::string> running_handler;
  sync::Inspectable<const std::string> running_attempt;

  // --- The owner.

  static void count(std::atomic<std::uint64_t>& counter) {
    // relaxed: one writer, read by reports
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// relaxed: seen a step later at the latest; must_answer() looks again.
  [[nodiscard]] bool is_asked() const {
    return asked_.load(std::memory_order_relaxed) != answered_.load(std::memory_order_relaxed);
  }
  /// Returns whether the worker has to describe itself before it sleeps.
  [[nodiscard]] bool must_answer() const {
    return asked_.load(std::memory_order_seq_cst) != answered_.load(std::memory_order_relaxed);
  }
  /// Between two tasks.
  void answer() {
    answered_.store(asked_.load(std::memory_order_seq_cst), std::memory_order_release);
  }

  // --- An inspector.

  /// Asks the owner to answer(). `number`: larger than all before.
  void ask(std::uint64_t number, bool is_asleep) {
    slept_.store(is_asleep, std::memory_order_relaxed);
    asked_.store(number, std::memory_order_seq_cst);
  }
  [[nodiscard]] bool has_answered(std::uint64_t number) const {
    // acquire pairs with the release in answer()
    return answered_.load(std::memory_order_acquire) == number;
  }
  [[nodiscard]] bool slept() const { return slept_.load(std::memory_order_relaxed); }
  /// Names of the running task, attempt and handler.
  void add_running(WorkerState& state, const WaitTexts& texts) {
    running_task.visit([&](const Task& task) {
      state.task = name_of(task);
      state.place = texts.place_of(&task);
    });
    running_handler.visit([&](const std::string& name) { state.handler = name; });
    running_attempt.visit([&](const std::string& name) { state.attempt = name; });
  }

 private:
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> answered_{0};  // owner writes
  std::atomic<bool> slept_{false};          // when it was last asked
};

}  // namespace shoal::sched
