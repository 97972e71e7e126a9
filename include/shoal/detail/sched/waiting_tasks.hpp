#pragma once
// Tasks, main functions and threads of a rank that wait in wait_for().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shoal {

class TaskGroup;
}

namespace shoal::sched {

class ParkedList;
class TaskScope;

/// **Caller**: any thread.
class WaitingTasks {
 public:
  explicit WaitingTasks(int worker_count);
  ~WaitingTasks();
  WaitingTasks(const WaitingTasks&) = delete;
  WaitingTasks& operator=(const WaitingTasks&) = delete;

  /// Number of those that are not counted as running meanwhile.
  [[nodiscard]] std::uint64_t count() const;
  /// Number of all.
  [[nodiscard]] std::size_t size() const;
  /// Lines that name them, and circles of locks among them.
  [[nodiscard]] std::vector<std::string> describe() const;
  /// " (heat.py:57 in exchange)": where the main function waits in code of another language.
  [[nodiscard]] std::string place_of_main() const;
  /// A scope has failed: its parked tasks and threads continue with an exception.
  void cancel(const TaskScope& scope);
  /// A group was cancelled: likewise its parked tasks, and those of the groups that nest in it.
  void cancel(const TaskGroup& group);
  /// Continues the parked main function of a failed world with an exception; returns false if it is
  /// not parked.
  bool cancel_main();
  /// The operation in which the main function waits and cannot be cancelled, or "".
  [[nodiscard]] std::string keeps_main() const;

  /// Tasks that parked on a worker; the last list has the waiters of all other threads.
  [[nodiscard]] ParkedList& list(int slot) const { return *lists_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] std::vector<const ParkedList*> all() const;

 private:
  std::vector<std::unique_ptr<ParkedList>> lists_;
};

}  // namespace shoal::sched
