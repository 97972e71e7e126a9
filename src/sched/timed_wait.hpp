#pragma once
// A wait with a deadline.

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sched/timers.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/waiter.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace shoal::sched {

/// Waits for something at most until a time. For one waiter. It is in two lists, of what it waits
/// for and of the timers; whichever comes first takes it out of the other one before it wakes the
/// waiter, so that a waiter that goes on is in neither.
class TimedWait final : public Waitable, private Timer, private sync::Waiter {
 public:
  TimedWait(Waitable& what, std::uint64_t due_ns)
      : Waitable(what.scheduler()), what_(what), due_ns_(due_ns) {}

  bool enlist(sync::Waiter& waiter) override;
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override { return what_.describe(); }
  [[nodiscard]] const Task* holder() const override { return what_.holder(); }
  [[nodiscard]] bool ends_by_itself() const override { return true; }
  [[nodiscard]] bool is_cancellable() const override { return what_.is_cancellable(); }
  [[nodiscard]] bool is_over() const override { return what_.is_over(); }
  [[nodiscard]] std::uint64_t join() const override { return what_.join(); }
  /// Returns when one of both has come. **Errors**: as wait_for().
  void wait() { wait_here(); }

 private:
  void expire() override;
  void wake() override;
  /// Called by a side that has not found this in the list of the other one, which is about to wake
  /// it as well: returns true for the later of both.
  [[nodiscard]] bool is_second() { return one_has_come_.exchange(true, std::memory_order_acq_rel); }

  Waitable& what_;
  const std::uint64_t due_ns_;
  sync::Waiter* waiter_ = nullptr;
  std::atomic<bool> one_has_come_{false};
  sync::Mutex enlisting_;  // held until it is in both lists
};

}  // namespace shoal::sched
