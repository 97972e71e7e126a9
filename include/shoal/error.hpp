#pragma once
// The exceptions that shoal throws. Each message says what was wrong, where, and what to do.

#include <shoal/rank.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace shoal {

/// Base of every exception thrown by shoal.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call that the program must not make (unset function, rank out of range, blocking in a
/// handler).
class CheckError : public Error {
 public:
  using Error::Error;
};

/// Bad option, environment variable, configuration file or launch.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A corrupt or truncated packet, or a call of the transport below that failed.
class TransportError : public Error {
 public:
  using Error::Error;
};

/// Bytes that do not decode as the value that was asked for.
class DecodeError : public TransportError {
 public:
  using TransportError::TransportError;
};

/// A task or a handler threw, or the team was cancelled. Thrown by wait() on every rank, with the
/// same content.
class TaskError : public Error {
 public:
  /// An error of the task `task_name` on `rank`, with its text.
  TaskError(Rank rank, std::string task_name, std::string text);
  /// The rank on which the exception was thrown.
  [[nodiscard]] Rank rank() const { return rank_; }
  /// Name or key of the task or handler that threw.
  [[nodiscard]] const std::string& task_name() const { return task_name_; }
  /// what() of the original exception.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Returns whether no task threw: Team::cancel() was called. text() has the team and the reason.
  [[nodiscard]] bool is_cancellation() const { return task_name_ == kCancellation; }

  /// task_name() of a cancellation.
  static constexpr const char* kCancellation = "Team::cancel()";

 private:
  Rank rank_;
  std::string task_name_;
  std::string text_;
};

/// A task with retries has thrown in its last attempt. what() has the number of attempts and the
/// text of the last exception.
class RetryError : public Error {
 public:
  /// The task has run `attempts` times; `last` is the exception of the last one.
  RetryError(int attempts, std::exception_ptr last);
  /// Number of times that the task has run.
  [[nodiscard]] int attempts() const { return attempts_; }
  /// The exception of the last attempt.
  [[nodiscard]] const std::exception_ptr& last() const { return last_; }

 private:
  int attempts_;
  std::exception_ptr last_;
};

/// Deadlock: no task runs, no message is in flight, and something still waits. what() lists it for
/// every rank.
class StuckError : public Error {
 public:
  using Error::Error;
};

/// The wait of a task was cancelled, because its world has failed or ends, or its TaskGroup was
/// cancelled. The call in which the task waits throws it, so that the stack of the task unwinds;
/// let it pass. A destructor that waits cannot let it pass: the process would terminate there
/// without the reason of the failure. Catch it in the destructor, or do not wait there.
class CancelledError : public Error {
 public:
  using Error::Error;
};

/// what() of the exception behind `error`; its type if it is not a std::exception.
std::string describe(const std::exception_ptr& error);

}  // namespace shoal
