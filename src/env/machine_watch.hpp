#pragma once
// Events of the machine: a readable descriptor, a signal, memory use.

#include <shoal/detail/base/function.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "env/alarm.hpp"

namespace shoal::env {

/// Calls functions, each once, on a thread of its own that is started when there is something to
/// watch.
class MachineWatch {
 public:
  using Id = std::uint64_t;
  /// Must not throw, nor block for long.
  using Callback = Function<void()>;

  MachineWatch();
  ~MachineWatch();
  MachineWatch(const MachineWatch&) = delete;
  MachineWatch& operator=(const MachineWatch&) = delete;

  // Any thread. **Errors**: Error that says what is wrong.

  /// There is something to read, or it was closed at the other end.
  Id when_readable(int descriptor, Callback callback);
  /// The signal comes. The program has left it to its default, which does not happen meanwhile.
  Id when_signal(int signal, Callback callback);
  /// The process's resident memory is larger. Looked at every few milliseconds.
  Id when_memory_above(std::size_t size_bytes, Callback callback);
  /// Cancels a watch; returns false if its function was called, or is just being called.
  bool cancel(Id id);

 private:
  struct Watched;
  Id add(std::unique_ptr<Watched> watched);
  void run();
  /// Removes and returns the watches that are due.
  std::map<Id, std::unique_ptr<Watched>> take_due();

  Alarm changed_;  // there is more to watch, or the thread is to end
  std::mutex mutex_;
  // All guarded by mutex_.
  std::map<Id, std::unique_ptr<Watched>> watched_;
  Id ids_ = 0;
  bool ending_ = false;
  std::unique_ptr<Thread> thread_;
};

/// Resident memory of this process; 0 where the system does not say.
std::size_t resident_bytes();

}  // namespace shoal::env
