#include "sched/timed_wait.hpp"

namespace shoal::sched {

bool TimedWait::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(enlisting_);
  waiter_ = &waiter;
  if (!what_.enlist(*this)) return false;
  scheduler().add_timer(*this, due_ns_);
  return true;
}

// Once the timer is removed, time does not wake it, and likewise for the list.
bool TimedWait::withdraw(sync::Waiter& /*waiter*/) {
  if (!scheduler().remove_timer(*this)) return false;
  return what_.withdraw(*this) || is_second();
}

void TimedWait::expire() {
  { const sync::Lock lock(enlisting_); }
  if (what_.withdraw(*this) || is_second()) waiter_->wake();
}

void TimedWait::wake() {
  { const sync::Lock lock(enlisting_); }
  if (scheduler().remove_timer(*this) || is_second()) waiter_->wake();
}

}  // namespace shoal::sched
