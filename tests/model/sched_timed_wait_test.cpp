// A wait with a deadline (sched::TimedWait) in all interleavings of the end of what it waits for,
// the timer and a cancellation: the waiter is woken once, and nobody touches the wait afterwards.

#include <gtest/gtest.h>

#include <compare>
#include <string>

#include "support/explorer.hpp"

namespace sched_timed_wait_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  correct,
  enlists_without_its_lock,
  expiry_wakes_in_any_case,
  end_leaves_the_timer,
  cancellation_forgets_who_came_before,
  cancellation_stops_the_timer_first
};

struct Program {
  bool ends = true;
  bool expires = true;
  bool is_cancelled = false;
  Variant variant = Variant::correct;
};

enum Thread { kWaiter, kEnder, kTimer, kCanceller, kThreads };

/// Each step is one access to the list, the timers, the lock or the word of the wait.
class WaitModel {
 public:
  explicit WaitModel(const Program& program) : program_(&program) {}
  auto operator<=>(const WaitModel&) const = default;

  [[nodiscard]] static int thread_count() { return kThreads; }
  [[nodiscard]] bool can_step(int thread) const {
    switch (thread) {
      case kWaiter:
        return waiter_ < 4 || (waiter_ == 4 && woken_ > 0);
      case kEnder:
        // 1: it takes the lock of the wait
        return program_->ends && ender_ < kDone && !(ender_ == 1 && is_locked());
      case kTimer:
        if (timer_ == 0) return program_->expires && in_timers_;
        return timer_ < kDone && !(timer_ == 1 && is_locked());
      default:  // under the lock of the list of parked tasks, as the waiter's first steps are
        return program_->is_cancelled && canceller_ < kDone &&
               (canceller_ > 0 || (waiter_ == 4 && in_parked_list_));
    }
  }
  void step(int thread) {
    switch (thread) {
      case kWaiter:
        return wait();
      case kEnder:
        return end();
      case kTimer:
        return expire();
      default:
        return cancel();
    }
  }
  [[nodiscard]] std::string broken() const {
    if (touched_late_) return "somebody touches a wait that has ended";
    if (waiter_ == 5 && is_given_ && is_cancelled_) return "a lock goes to one that is cancelled";
    if (waiter_ == 5 && is_given_ != has_ended_) return "it does not know whether it has the lock";
    return woken_ > 1 ? "it is woken twice" : "";
  }
  [[nodiscard]] std::string broken_at_end() const {
    const bool wakes = program_->ends || program_->expires;
    if (wakes && waiter_ != 5) return "it waits for ever";
    return waiter_ == 5 && (in_list_ || in_timers_) ? "it has left something behind" : "";
  }

 private:
  static constexpr int kDone = 9;

  [[nodiscard]] bool is_locked() const {
    return waiter_ > 0 && waiter_ < 3 && program_->variant != Variant::enlists_without_its_lock;
  }
  void touch() { touched_late_ = touched_late_ || waiter_ == 5; }
  static bool take(bool& listed) { return listed ? !(listed = false) : false; }
  bool is_second() {
    touch();
    const bool before = one_has_come_;
    one_has_come_ = true;
    return before;
  }
  void wake(int& pc) {
    touch();
    ++woken_;
    pc = kDone;
  }

  void wait() {
    switch (waiter_) {
      case 0:  // the lock
        break;
      case 1:
        if (is_over_) {
          is_given_ = has_ended_ = true;
          waiter_ = 5;  // no need to wait
          return;
        }
        in_list_ = true;
        break;
      case 2:
        in_timers_ = true;
        break;
      case 3:  // it is parked
        in_parked_list_ = true;
        break;
      default:
        break;
    }
    ++waiter_;
  }
  void end() {
    switch (ender_) {
      case 0:
        is_over_ = true;
        is_given_ = take(in_list_);
        ender_ = is_given_ ? 1 : kDone;
        return;
      case 1:
        touch();
        has_ended_ = true;
        ender_ = 2;
        return;
      case 2:
        touch();
        if (program_->variant == Variant::end_leaves_the_timer) {
          wake(ender_);
        } else {
          ender_ = take(in_timers_) ? 4 : 3;
        }
        return;
      case 3:
        ender_ = is_second() ? 4 : kDone;
        return;
      default:
        wake(ender_);
    }
  }
  void expire() {
    switch (timer_) {
      case 0:
        in_timers_ = false;
        timer_ = 1;
        return;
      case 1:
        touch();
        timer_ = 2;
        return;
      case 2:
        touch();
        timer_ = take(in_list_) || program_->variant == Variant::expiry_wakes_in_any_case ? 4 : 3;
        return;
      case 3:
        timer_ = is_second() ? 4 : kDone;
        return;
      default:
        wake(timer_);
    }
  }
  // A waiter that has gone on has left the list of parked tasks, whose lock is held here.
  void cancel() {
    const bool timer_first = program_->variant == Variant::cancellation_stops_the_timer_first;
    switch (canceller_) {
      case 0:
        canceller_ = waiter_ == 4 && take(timer_first ? in_timers_ : in_list_) ? 1 : kDone;
        return;
      case 1:
        canceller_ = take(timer_first ? in_list_ : in_timers_) ? 3 : 2;
        return;
      case 2:
        if (program_->variant == Variant::cancellation_forgets_who_came_before) {
          canceller_ = kDone;
        } else {
          canceller_ = is_second() ? 3 : kDone;
        }
        return;
      default:
        is_cancelled_ = true;
        wake(canceller_);
    }
  }

  const Program* program_;
  int waiter_ = 0;  // 4: parked, 5: goes on
  int ender_ = 0;
  int timer_ = 0;
  int canceller_ = 0;
  int woken_ = 0;
  bool is_over_ = false;
  bool in_list_ = false;
  bool in_timers_ = false;
  bool in_parked_list_ = false;
  bool one_has_come_ = false;
  bool touched_late_ = false;
  bool is_given_ = false;   // it was taken out of the list of the lock, which it has now
  bool has_ended_ = false;  // and this says so
  bool is_cancelled_ = false;
};

std::string broken(const Program& program) { return explore(WaitModel(program)).broken; }

TEST(TimedWaitModel, TheEndOrTheDeadlineOrACancellation_WakesItOnce) {
  for (const bool ends : {false, true}) {
    for (const bool expires : {false, true}) {
      for (const bool cancelled : {false, true}) {
        EXPECT_EQ(broken({ends, expires, cancelled}), "") << ends << expires << cancelled;
      }
    }
  }
}

TEST(TimedWaitModel, BrokenVariants_AreRejected) {
  using enum Variant;
  EXPECT_NE(broken({true, false, false, enlists_without_its_lock}), "");
  EXPECT_NE(broken({true, true, false, expiry_wakes_in_any_case}), "");
  EXPECT_NE(broken({true, true, false, end_leaves_the_timer}), "");
  EXPECT_NE(broken({false, true, true, cancellation_forgets_who_came_before}), "");
  EXPECT_NE(broken({true, false, true, cancellation_stops_the_timer_first}), "");
}

}  // namespace sched_timed_wait_test
