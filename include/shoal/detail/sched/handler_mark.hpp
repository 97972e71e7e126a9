#pragma once
// Marks of what a worker does outside of tasks, for checks and reports.

#include <shoal/detail/env/env.hpp>
#include <shoal/detail/sync/inspectable.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace shoal::sched {

class TaskScope;

class Worker;

/// Marks the calling worker as running handlers (or other code that must not block).
class HandlerMark {
 public:
  /// Unless `counts`, Inspector::begun() does not count the handler: it is one of shoal itself.
  explicit HandlerMark(bool counts = true);
  ~HandlerMark();
  HandlerMark(const HandlerMark&) = delete;
  HandlerMark& operator=(const HandlerMark&) = delete;

  /// Sets the name of the handler that begins, for reports. `name` must live until hide() has
  /// returned.
  void show(const std::string& name) {
    if (shown_ != nullptr) shown_->show(&name);
  }
  /// Sets the scope of the messages that are handled; at first it is the world's.
  void set_scope(TaskScope& scope) {
    if (scope_ != nullptr) *scope_ = &scope;
  }
  /// Records that the handler begins, for one message.
  void begin() {
    if (shown_ == nullptr) return;
    count_begun(1);
    if (is_watched_) [[unlikely]]
      begin_watched();
  }
  /// Records that the handler begins for each of `count` messages, one after the other.
  void begin_each(std::uint64_t count) {
    if (shown_ == nullptr) return;
    count_begun(count);
    for (std::uint64_t i = 0; is_watched_ && i < count; ++i) begin_watched();
  }
  /// Records, in traces only, that the handler begins for a message that becomes a task.
  void begin_without_count() {
    if (observer_ == nullptr && shown_ != nullptr) begin_watched();
  }
  /// Records that the handler has ended.
  void hide() {
    if (shown_ != nullptr) shown_->hide(outer_);
    if (is_watched_) [[unlikely]]
      end_watched();
  }
  /// Returns whether an observer or a recording watches the handlers: then call number_from().
  [[nodiscard]] bool is_watched() const { return is_watched_; }
  /// In the identifier of a message that has left: its sender has its memory back, which may make
  /// tasks ready, and handles no message.
  static constexpr std::uint64_t kReleaseBit = std::uint64_t{1} << 63U;
  /// Sets the identifiers in traces of the messages that are handled from now on: `id`, `id` + 1,
  /// ...
  void number_from(std::uint64_t id) { next_id_ = id; }

 private:
  // relaxed: one writer, read by reports
  void count_begun(std::uint64_t count) {
    begun_->store(begun_->load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  void begin_watched();
  void end_watched();

  // Activity of the calling worker; null on other threads.
  sync::Inspectable<const std::string>* shown_ = nullptr;
  std::atomic<std::uint64_t>* begun_ = nullptr;
  int* depth_ = nullptr;
  env::Env* observer_ = nullptr;
  const std::string* outer_ = nullptr;  // the handler that this one runs in
  bool is_watched_ = false;             // by an observer, or by a recording
  std::uint64_t next_id_ = 0;           // of traces; 0: not recorded
  std::uint64_t running_id_ = 0;
  std::uint64_t outer_id_ = 0;
  TaskScope** scope_ = nullptr;
  TaskScope* outer_scope_ = nullptr;
};

/// Returns the identifier, in traces, of the message that the calling thread handles; 0: none, or
/// not recorded.
[[nodiscard]] std::uint64_t traced_message();

/// Marks the calling worker as having one more waiting sender: beyond a limit it starts no further
/// local task, so that a flood does not pile up stacks.
class ParkedSenderMark {
 public:
  ParkedSenderMark();
  ~ParkedSenderMark();
  ParkedSenderMark(const ParkedSenderMark&) = delete;
  ParkedSenderMark& operator=(const ParkedSenderMark&) = delete;

 private:
  Worker* worker_;
};

}  // namespace shoal::sched
