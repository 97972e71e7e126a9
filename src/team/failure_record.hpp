#pragma once
// The failure of a scope, and who was told of it.

#include <shoal/error.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace shoal::term {

/// The first failure known on this rank, replaced by the one that the root of the team chose; and
/// the text of a stuck world. Guarded by the lock of the scope.
class FailureRecord {
 public:
  [[nodiscard]] bool exists() const { return error_.has_value(); }
  [[nodiscard]] const std::optional<TaskError>& error() const { return error_; }
  /// Records the first failure; returns false if there was one, which was sent on already.
  bool record(TaskError error) {
    if (error_.has_value()) return false;
    error_.emplace(std::move(error));
    return true;
  }
  /// Records the failure that the root has chosen; returns false if it was known.
  bool replace_by_root(TaskError error) {
    if (std::exchange(from_root_, true)) return false;
    error_.emplace(std::move(error));
    return true;
  }
  [[nodiscard]] bool is_from_root() const { return from_root_; }
  void set_from_root() { from_root_ = true; }

  /// Records that the world is stuck. `late`: reported as a failure, once the parked tasks have
  /// ended.
  void set_stuck(std::string text, bool late) {
    stuck_text_ = std::move(text);
    stuck_told_late_ = stuck_told_late_ || late;
  }
  [[nodiscard]] const std::string& stuck_text() const { return stuck_text_; }
  [[nodiscard]] bool is_stuck_told_late() const { return stuck_told_late_; }

  /// Returns the error that the member throws for the failure, from now on another one if this was
  /// that of a stuck world.
  [[nodiscard]] std::exception_ptr take() {
    if (!stuck_told_late_) return std::make_exception_ptr(TaskError(*error_));
    std::exception_ptr stuck = std::make_exception_ptr(StuckError(stuck_text_));
    set_told();
    return stuck;
  }
  /// Records that the member throws the failure.
  void set_told() { stuck_told_late_ = false; }

 private:
  std::optional<TaskError> error_;
  bool from_root_ = false;
  std::string stuck_text_;
  bool stuck_told_late_ = false;  // the failure is that one
};

}  // namespace shoal::term
