#include <shoal/detail/sched/timers.hpp>

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/waiter.hpp>
#include <shoal/error.hpp>
#include <shoal/sleep.hpp>

#include <fmt/format.h>

#include "sched/live.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace shoal::sched {

void refuse_time() {
  throw CheckError("a time that is not a number (NaN): give a duration or a time that is one");
}

struct Timers::Order : std::set<Timer*, Earlier> {};

Timers::Timers() : timers_(std::make_unique<Order>()) {}
Timers::~Timers() = default;

void Timers::publish() {
  const std::uint64_t next = timers_->empty() ? kNever : (*timers_->begin())->due_ns_;
  next_ns_.store(next, std::memory_order_seq_cst);
}

bool Timers::add(Timer& timer, std::uint64_t due_ns) {
  const sync::Lock lock(mutex_);
  timer.due_ns_ = due_ns;
  timer.number_ = ++numbers_;
  timers_->insert(&timer);
  publish();
  return *timers_->begin() == &timer;
}

bool Timers::remove(Timer& timer) {
  const sync::Lock lock(mutex_);
  const bool found = timer.number_ != 0 && timers_->erase(&timer) > 0;
  publish();
  return found;
}

bool Timers::expire(std::uint64_t now_ns) {
  bool any = false;
  while (now_ns >= next_ns()) {
    Timer* timer = nullptr;
    {
      const sync::Lock lock(mutex_);
      if (timers_->empty() || (*timers_->begin())->due_ns_ > now_ns) break;
      timer = *timers_->begin();
      timers_->erase(timers_->begin());
      publish();
    }
    timer->expire();
    any = true;
  }
  return any;
}

namespace {

class Sleep final : public Waitable, private Timer {
 public:
  Sleep(Scheduler& scheduler, std::uint64_t duration_ns)
      : Waitable(scheduler), duration_ns_(duration_ns) {}

  bool enlist(sync::Waiter& waiter) override {
    waiter_ = &waiter;
    Scheduler& rank = scheduler();  // this may be gone once the timer is set
    rank.add_timer(*this, Timers::due_ns(rank.env().now_ns(), duration_ns_));
    return true;
  }
  bool withdraw(sync::Waiter& /*waiter*/) override { return scheduler().remove_timer(*this); }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("sleep_for({} s)", static_cast<double>(duration_ns_) / 1e9);
  }
  [[nodiscard]] bool ends_by_itself() const override { return true; }
  void wait() { wait_here(); }

 private:
  void expire() override { waiter_->wake(); }

  const std::uint64_t duration_ns_;
  sync::Waiter* waiter_ = nullptr;
};

/// Waits for something at most until a time. For one waiter. It is in two lists, of what it waits
/// for and of the timers. The one that comes first takes it out of the other list before it wakes
/// the waiter, so that a waiter that goes on is in neither.
class TimedWait final : public Waitable, private Timer, private sync::Waiter {
 public:
  TimedWait(Waitable& what, std::uint64_t due_ns)
      : Waitable(what.scheduler()), what_(what), due_ns_(due_ns) {}

  bool enlist(sync::Waiter& waiter) override;
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override { return what_.describe(); }
  [[nodiscard]] std::string trace_text() const override { return what_.trace_text(); }
  [[nodiscard]] const Task* holder() const override { return what_.holder(); }
  [[nodiscard]] bool ends_by_itself() const override { return true; }
  [[nodiscard]] std::uint64_t due_ns() const override { return due_ns_; }
  [[nodiscard]] Cancellable cancellable() const override { return what_.cancellable(); }
  [[nodiscard]] bool is_over() const override { return what_.is_over(); }
  [[nodiscard]] std::uint64_t join() const override { return what_.join(); }
  /// Returns whether the thing has come, before its time or at it. **Errors**: as wait_for().
  [[nodiscard]] bool wait() {
    wait_here();
    return has_ended_;
  }

 private:
  void expire() override;
  void wake() override;
  /// Called by a side that has not found this in the list of the other one, which is about to wake
  /// it as well: returns true for the later of both.
  [[nodiscard]] bool is_second() { return one_has_come_.exchange(true, std::memory_order_acq_rel); }

  Waitable& what_;
  const std::uint64_t due_ns_;
  sync::Waiter* waiter_ = nullptr;
  bool has_ended_ = false;  // written before the waiter is woken, or before is_second()
  std::atomic<bool> one_has_come_{false};
  sync::Mutex enlisting_;  // held until it is in both lists
};

bool TimedWait::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(enlisting_);
  waiter_ = &waiter;
  if (!what_.enlist(*this)) {
    has_ended_ = true;
    return false;
  }
  scheduler().add_timer(*this, due_ns_);
  return true;
}

// First out of the list of the thing: a waiter that is not there any more was given it, a lock,
// say, and is not cancelled. Once it is out of there only time wakes it.
bool TimedWait::withdraw(sync::Waiter& /*waiter*/) {
  if (!what_.withdraw(*this)) return false;
  return scheduler().remove_timer(*this) || is_second();
}

void TimedWait::expire() {
  { const sync::Lock lock(enlisting_); }
  if (what_.withdraw(*this) || is_second()) waiter_->wake();
}

void TimedWait::wake() {
  { const sync::Lock lock(enlisting_); }
  has_ended_ = true;
  if (scheduler().remove_timer(*this) || is_second()) waiter_->wake();
}

}  // namespace

bool Waitable::wait_here_until(std::uint64_t due_ns) { return TimedWait(*this, due_ns).wait(); }

bool Waitable::has_come(std::uint64_t due_ns) const {
  std::optional<ForeignUse> use;
  if (!on_worker() && !use.emplace(scheduler_)) {
    if (is_over()) return true;  // perhaps by the end of the run
    check_live(scheduler_, describe());
  }
  return scheduler_.env().now_ns() >= due_ns && !poll_missed();
}

void sleep_ns(std::uint64_t duration_ns) {
  Sleep(current_scheduler("sleep_for()", "other threads have the function of the standard library"),
        duration_ns)
      .wait();
}

std::shared_ptr<Waitable> make_sleep(Scheduler& scheduler, std::uint64_t duration_ns) {
  return std::make_shared<Sleep>(scheduler, duration_ns);
}

}  // namespace shoal::sched
