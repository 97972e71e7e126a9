#pragma once
// A thread that waits for something to happen, and what wakes it: another thread, a signal, time.

#include <shoal/detail/base/function.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace shoal::env {

/// Wakes the one thread that waits for it. A ring without a waiter is remembered.
class Alarm {
 public:
  struct Rung {
    bool by_thread = false;
    bool by_signal = false;
  };

  /// Makes an alarm. **Errors**: Error when the system has no more descriptors.
  Alarm();
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// Wakes the waiting thread. **Caller**: any thread. **Blocks**: never.
  void ring();
  /// Blocks until it rings, or until `timeout_ns` passed. Says what rang since the last wait().
  Rung wait(std::uint64_t timeout_ns);
  /// Readable while it has rung.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

/// While it lives, the signal rings the alarm, unless the program has chosen what the signal does.
/// A handler of the MPI library is called as well. Several may exist at once; the last one to end
/// restores the signal's former handler.
class AlarmOnSignal {
 public:
  AlarmOnSignal(int signal, Alarm& alarm);
  ~AlarmOnSignal();
  AlarmOnSignal(const AlarmOnSignal&) = delete;
  AlarmOnSignal& operator=(const AlarmOnSignal&) = delete;

  /// Returns whether the alarm gets the signal.
  [[nodiscard]] bool is_set() const { return slot_ >= 0; }

 private:
  const int signal_;
  int slot_ = -1;
};

/// Runs `function` on a thread of its own, which the destructor waits for. Debuggers and top show
/// the first 15 characters of `name`, errors say `purpose`.
class Thread {
 public:
  /// Starts a thread. **Errors**: Error when the system refuses a thread.
  Thread(const std::string& name, const std::string& purpose, Function<void()> function);
  Thread(const std::string& name, Function<void()> function)
      : Thread(name, name, std::move(function)) {}
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Unless it is destroyed within `timeout_ns`, writes `text` to standard error and ends the process
/// with `exit_code`, at once: no destructor and no exit handler runs, and what the process is
/// blocked in does not matter.
class ExitDeadline {
 public:
  /// Starts the deadline. **Errors**: Error when the system has no thread or no descriptor left.
  ExitDeadline(std::uint64_t timeout_ns, std::string text, int exit_code);
  ~ExitDeadline();
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;

 private:
  void run();

  const std::uint64_t timeout_ns_;
  const std::string text_;
  const int exit_code_;
  std::atomic<bool> met_{false};
  Alarm alarm_;
  Thread thread_;
};

}  // namespace shoal::env
