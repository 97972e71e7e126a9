#pragma once
// A place that is full or empty: reading and writing wait for that (Cray MTA; Chapel's sync
// variables; the names are theirs).

#include <shoal/sync.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace shoal {

/// Holds one value or none. Each call is atomic, and waits by parking the task. **Caller** and
/// **Errors**: as Mutex::lock().
template <class T>
class FullEmpty {
 public:
  /// Makes an empty cell on the caller's rank. **Caller**: a task, handler or main function.
  explicit FullEmpty(std::string name = "a full/empty cell")
      : FullEmpty(sched::current_scheduler("a full/empty cell"), std::move(name)) {}
  /// Makes an empty cell on the rank of a team: `FullEmpty<int> cell(world)`. **Caller**: any
  /// thread.
  explicit FullEmpty(const sched::OnRank& team, const std::string& name = "a full/empty cell")
      : mutex_(team, name),
        full_(team, name + " to be full"),
        empty_(team, name + " to be empty") {}

  /// Waits until the variable is empty, and fills it.
  void write_ef(T value) {
    std::unique_lock lock(mutex_);
    empty_.wait(lock, [this] { return !value_.has_value(); });
    fill(std::move(value));
  }
  /// Fills the variable, or replaces its value. Waits only for concurrent calls.
  void write_xf(T value) {
    const std::unique_lock lock(mutex_);
    fill(std::move(value));
  }
  /// Waits until the variable is full, empties it, and returns the value.
  [[nodiscard]] T read_fe() {
    std::unique_lock lock(mutex_);
    full_.wait(lock, [this] { return value_.has_value(); });
    T value = std::move(*value_);
    value_.reset();
    empty_.notify_one();
    return value;
  }
  /// Waits until it is full, and leaves it so.
  [[nodiscard]] T read_ff() {
    std::unique_lock lock(mutex_);
    full_.wait(lock, [this] { return value_.has_value(); });
    return *value_;
  }

 private:
  void fill(T value) {
    value_ = std::move(value);
    full_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable full_;
  ConditionVariable empty_;
  std::optional<T> value_;  // guarded by mutex_
};

}  // namespace shoal
