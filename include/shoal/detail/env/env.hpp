#pragma once
// The only door to the operating system: threads, time, sleep, randomness. The simulator replaces
// it; nothing above calls the system directly.

#include <shoal/cost.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shoal::env {

/// Puts one thread to sleep and wakes it. An unpark() before park() makes that park() return at
/// once: a wake-up is never lost.
class Parker {
 public:
  virtual ~Parker() = default;
  /// The owning thread. Blocks until unpark(), or until `timeout_ns` passed (0: no limit).
  virtual void park(std::uint64_t timeout_ns) = 0;
  /// Wakes the parked thread. **Caller**: any thread. **Blocks**: never.
  virtual void unpark() = 0;
};

/// Outcome of one step of a worker.
enum class StepResult {
  worked,   // ran a task or handled messages: step again
  idle,     // found nothing
  stopped,  // told to stop; step no more
};

/// Object that advances by steps: a worker, or a progress engine.
class Steppable {
 public:
  virtual ~Steppable() = default;
  /// Runs at most one task or one batch of progress. **Caller**: one thread at a time.
  virtual StepResult step() = 0;
  /// Called once by the thread that is to own this; returns when it stopped.
  virtual void run() = 0;
  /// Name of its thread; Linux shows the first 15 characters.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Description of its thread in errors.
  [[nodiscard]] virtual std::string purpose() const { return name(); }
};

/// Events reported to an observer: four of a task, and `handles` of a handler. `parks` comes with
/// the operation in which the task waits.
enum class Happening { begins, parks, goes_on, ends, handles };

/// The environment that a world runs in.
class Env {
 public:
  virtual ~Env() = default;
  /// Monotonic time in nanoseconds from an arbitrary origin. Any thread.
  [[nodiscard]] virtual std::uint64_t now_ns() = 0;
  /// A seed for decisions whose outcome must not matter (victim order). Any thread.
  [[nodiscard]] virtual std::uint64_t random_seed() = 0;
  [[nodiscard]] virtual std::unique_ptr<Parker> make_parker() = 0;
  /// Lets other threads of an oversubscribed machine run.
  virtual void yield() = 0;
  /// The step that runs contains work of this cost; its worker should end the step and take the
  /// rest up in the next one. False: the work is only pretended.
  [[nodiscard]] virtual bool charge(const Cost&) { return true; }
  /// Returns whether charge() has an effect.
  [[nodiscard]] virtual bool charges() const { return false; }
  /// Time is virtual: events from outside of the program do not occur.
  [[nodiscard]] virtual bool is_simulated() const { return false; }
  /// Returns whether observe() is to be called.
  [[nodiscard]] virtual bool observes() const { return false; }
  /// Reports an event of the step that runs.
  virtual void observe(Happening /*what*/, const std::string& /*name*/) {}
  /// Drives all until each has stopped. The first one is driven by the calling thread, each other
  /// one by its own thread (or, in an environment with one thread, all by turns).
  /// **Errors**: Error when a thread cannot be started; then none of them has been driven.
  virtual void drive(const std::vector<Steppable*>& all) = 0;
};

/// Real threads, real time.
std::unique_ptr<Env> make_thread_env();

/// Thrown by environments with one thread when every steppable is idle and none has stopped.
class NoProgress : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "every worker is idle and none has stopped";
  }
};

}  // namespace shoal::env
