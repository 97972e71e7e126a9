#pragma once
// Sources of events without a task: time, and the machine.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "env/machine_watch.hpp"

namespace shoal::event {

/// An event that happens once, or is stopped before. The task that submit_after() keeps for it
/// counts as running.
class Source : public sched::WaitingRoom, public std::enable_shared_from_this<Source> {
 public:
  Source(sched::Scheduler& scheduler, std::string text)
      : WaitingRoom(scheduler), text_(std::move(text)) {}
  virtual ~Source();

  /// Starts to watch. **Errors**: Error for a source that cannot be watched.
  virtual void start() = 0;
  /// Stops the source and destroys the task that waits for it; returns false if the event has
  /// happened, or is just happening.
  bool stop();
  [[nodiscard]] bool was_stopped() const { return stopped_.load(std::memory_order_acquire); }

  bool enlist(sync::Waiter& waiter) override;
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override { return text_; }
  [[nodiscard]] bool ends_by_itself() const override { return true; }

 protected:
  void happen();
  /// Stops watching; returns false if the event is just happening.
  virtual bool unwatch() = 0;

 private:
  const std::string text_;
  std::atomic<bool> stopped_{false};  // written before happened_
  bool happened_ SHOAL_GUARDED_BY(mutex_) = false;
};

/// Sources of one rank. **Caller**: any thread.
class Sources {
 public:
  explicit Sources(sched::Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Calls `action` in a task called `name` after `delay_ns`; returns the number for cancel().
  std::uint64_t after(std::uint64_t delay_ns, std::string name, Function<void()> action);
  // **Errors**: CheckError in simulated worlds; Error for a source that cannot be watched.
  std::uint64_t when_readable(int descriptor, std::string name, Function<void()> action);
  std::uint64_t on_signal(int signal, std::string name, Function<void()> action);
  std::uint64_t when_memory_above(std::size_t size_bytes, std::string name,
                                  Function<void()> action);
  /// Cancels a source; returns false if its event has happened.
  bool cancel(std::uint64_t number);

 private:
  using Begin = Function<env::MachineWatch::Id(env::MachineWatch&, Function<void()>)>;
  std::uint64_t watch(std::string text, std::string name, Begin begin, Function<void()> action);
  std::uint64_t add(const std::shared_ptr<Source>& source, std::string name,
                    Function<void()> action);

  sched::Scheduler& scheduler_;
  env::MachineWatch machine_;
  sync::Mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Source>> sources_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace shoal::event
