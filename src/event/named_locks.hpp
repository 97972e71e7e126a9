#pragma once
// Locks that are known by their names, and that end with the task that holds them.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/sync.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::event {

/// Named locks of one rank. **Caller**: tasks, the main function, threads of the program.
class NamedLocks {
 public:
  explicit NamedLocks(sched::Scheduler& scheduler) : scheduler_(scheduler) {}
  /// Releases the locks that the caller still holds.
  ~NamedLocks();
  NamedLocks(const NamedLocks&) = delete;
  NamedLocks& operator=(const NamedLocks&) = delete;

  /// Waits until the caller holds the lock. **Errors**: CheckError when it holds the lock already.
  void lock(std::string_view name);
  [[nodiscard]] bool try_lock(std::string_view name);
  /// Releases the lock. **Errors**: CheckError when the caller does not hold it, unless it lost it
  /// in wait_without().
  void unlock(std::string_view name);

  /// Releases the locks that the caller holds, also those of other Events, calls `wait`, and takes
  /// the locks again, in the order of their names, which is the same for all callers. It also takes
  /// them again when `wait` throws, except after CancelledError: then they are lost, and to unlock
  /// them does nothing.
  void wait_without(FunctionRef<void()> wait);

 private:
  class Held;
  Mutex& find(std::string_view name);
  Held* held_here(bool make);

  sched::Scheduler& scheduler_;
  sync::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Mutex>, std::less<>> locks_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::event
