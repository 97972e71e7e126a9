// The sleep and wake protocol of sched::IdleWorkers in all interleavings: no work
// is left while all sleep. The broken variants show that the explorer would notice.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include "support/explorer.hpp"

namespace sync_sleep_wake_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  correct,
  sleeper_looks_before_it_raises_its_flag,
  pusher_looks_for_sleepers_before_it_pushes,
  parker_forgets_an_early_unpark,
  sleeper_does_not_look_again,
  sleeper_ignores_that_it_should_look_again,  // at what a foreign thread finished
  sleeper_makes_no_barrier,
  sleeper_looks_before_its_barrier,
};

struct Program {
  int workers = 1;
  // One thread per word; each letter is one call: 's' submits a task that any worker may run, '0'
  // and '1' one bound to that worker, 'h' ends a Hold, 'x' requests the stop. 'd' is a worker that
  // is busy for ever and pushes a task to its deque: the store stays in a buffer until the
  // processor empties that, or a barrier does.
  std::array<std::string, 2> pushers;
  Variant variant = Variant::correct;
};

constexpr int kWorkersMax = 2;
constexpr int kPushersMax = 2;

class SleepModel {
 public:
  explicit SleepModel(const Program& program) : program_(&program) {}
  auto operator<=>(const SleepModel&) const = default;

  [[nodiscard]] int thread_count() const { return program_->workers + 2 * kPushersMax; }
  [[nodiscard]] bool can_step(int thread) const {
    if (thread >= program_->workers + kPushersMax) return buffer_of(thread).buffered > 0;
    if (thread >= program_->workers) {
      const int pusher = thread - program_->workers;
      return pushers_[at(pusher)].done < static_cast<int>(calls(pusher).size());
    }
    const Worker& me = workers_[at(thread)];
    return me.pc != kEnded && (me.pc != kPark || me.token);
  }
  void step(int thread) {
    if (thread < program_->workers) {
      worker_step(workers_[at(thread)]);
    } else if (thread < program_->workers + kPushersMax) {
      pusher_step(thread - program_->workers);
    } else {
      empty(pushers_[at(thread - program_->workers - kPushersMax)]);
    }
  }
  [[nodiscard]] std::string broken() const { return ""; }
  [[nodiscard]] std::string broken_at_end() const {
    int asleep = 0;
    for (int w = 0; w < program_->workers; ++w) {
      const Worker& worker = workers_[at(w)];
      if (stopping_ && worker.pc != kEnded) return "the stop was not noticed";
      if (!stopping_ && worker.bound > 0) return "a bound task was left";
      if (worker.asleep) ++asleep;
    }
    if (!stopping_ && shared_ > 0) return "a task was left";
    if (!stopping_ && hold_ended_ && !completed_) return "the end of the hold was not noticed";
    if (sleeper_count_ != asleep) return "the sleepers are miscounted";
    return "";
  }

 private:
  enum Pc {
    kLook,
    kRaise,
    kCount,
    kBarrier,
    kLookAgain,
    kLateBarrier,
    kLookForStop,
    kPark,
    kLower,
    kUncount,
    kEnded
  };
  struct Worker {
    int pc = kLook;
    bool asleep = false;  // state_
    bool token = false;   // of the parker
    int bound = 0;
    bool saw_work = false;  // the broken variant that looks first
    auto operator<=>(const Worker&) const = default;
  };
  struct Pusher {
    int pc = 0;
    int done = 0;
    int candidate = 0;  // worker to wake next
    int buffered = 0;   // tasks that no other thread sees yet
    auto operator<=>(const Pusher&) const = default;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] const std::string& calls(int pusher) const { return program_->pushers[at(pusher)]; }
  [[nodiscard]] bool is(Variant variant) const { return program_->variant == variant; }

  void worker_step(Worker& me) {
    const bool looks_first = is(Variant::sleeper_looks_before_it_raises_its_flag);
    switch (me.pc) {
      case kLook:
        look(me, looks_first);
        return;
      case kRaise:
        me.asleep = true;
        me.pc = kCount;
        return;
      case kCount:
        ++sleeper_count_;
        me.pc = looks_first || is(Variant::sleeper_does_not_look_again) ? kLookForStop : kBarrier;
        return;
      case kBarrier:
        if (!is(Variant::sleeper_makes_no_barrier) &&
            !is(Variant::sleeper_looks_before_its_barrier)) {
          for (Pusher& pusher : pushers_) empty(pusher);
        }
        me.pc = kLookAgain;
        return;
      case kLookAgain:
        me.pc = sees_work(me) ? kLower : kLookForStop;
        if (me.pc == kLookForStop && is(Variant::sleeper_looks_before_its_barrier)) {
          me.pc = kLateBarrier;
        }
        return;
      case kLateBarrier:
        for (Pusher& pusher : pushers_) empty(pusher);
        me.pc = kLookForStop;
        return;
      case kLookForStop:
        me.pc = stopping_ ? kLower : kPark;
        return;
      case kPark:
        me.token = false;
        me.pc = kLower;
        return;
      case kLower:
        me.pc = me.asleep ? kUncount : kLook;
        me.asleep = false;
        return;
      default:
        --sleeper_count_;
        me.pc = kLook;
    }
  }

  /// One step of Worker::step_once(): a task, or else the question whether all is complete.
  void look(Worker& me, bool looks_first) {
    if (stopping_) {
      me = Worker();
      me.pc = kEnded;
    } else if (me.bound > 0) {
      --me.bound;
    } else if (shared_ > 0) {
      --shared_;
    } else if (look_again_) {
      look_again_ = false;
      // The question itself comes with the next step: others may come between.
    } else {
      completed_ = completed_ || hold_ended_;
      me.pc = looks_first && sees_work(me) ? kLook : kRaise;
    }
  }
  [[nodiscard]] bool sees_work(const Worker& me) const {
    const bool again = look_again_ && !is(Variant::sleeper_ignores_that_it_should_look_again);
    return me.bound > 0 || shared_ > 0 || again;
  }

  void pusher_step(int pusher) {
    Pusher& me = pushers_[at(pusher)];
    const char call = calls(pusher)[at(me.done)];
    const bool looks_first = is(Variant::pusher_looks_for_sleepers_before_it_pushes);
    switch (me.pc) {
      case 0:
        me.candidate = call == '1' ? 1 : 0;
        if (!looks_first) change(call, me);
        me.pc = call == 's' || call == 'd' || call == 'h' ? 1 : 2;
        if (call == 'h') me.pc = 5;
        return;
      case 1:  // wake_one()
        me.pc = 2;
        if (sleeper_count_ == 0) finish(me, looks_first);
        return;
      case 2:  // wake_if_asleep()
        if (workers_[at(me.candidate)].asleep) {
          workers_[at(me.candidate)].asleep = false;
          me.pc = 3;
        } else {
          next_candidate(me, looks_first, call);
        }
        return;
      case 3:
        --sleeper_count_;
        me.pc = 4;
        return;
      case 4:
        unpark(workers_[at(me.candidate)]);
        if (call == 'x') {
          me.pc = 2;
          next_candidate(me, looks_first, call);
        } else {
          finish(me, looks_first);
        }
        return;
      case 5:
        look_again_ = true;
        me.pc = 1;
        return;
      default:
        change(call, me);
        finish(me, false);
    }
  }
  void next_candidate(Pusher& me, bool looks_first, char call) {
    const bool only_one = call == '0' || call == '1';
    if (only_one || ++me.candidate == program_->workers) finish(me, looks_first);
  }
  void finish(Pusher& me, bool looks_first) {
    me = looks_first ? Pusher{6, me.done, 0, me.buffered} : Pusher{0, me.done + 1, 0, me.buffered};
  }
  [[nodiscard]] const Pusher& buffer_of(int thread) const {
    return pushers_[at(thread - program_->workers - kPushersMax)];
  }
  void empty(Pusher& pusher) { shared_ += std::exchange(pusher.buffered, 0); }
  void change(char call, Pusher& me) {
    if (call == 'd') ++me.buffered;
    if (call == 's') ++shared_;
    if (call == '0' || call == '1') ++workers_[at(call - '0')].bound;
    if (call == 'h') hold_ended_ = true;
    if (call == 'x') stopping_ = true;
  }
  void unpark(Worker& worker) {
    worker.token = !is(Variant::parker_forgets_an_early_unpark) || worker.pc == kPark;
  }

  const Program* program_;
  std::array<Worker, kWorkersMax> workers_;
  std::array<Pusher, kPushersMax> pushers_;
  int shared_ = 0;
  int sleeper_count_ = 0;
  bool look_again_ = false;
  bool hold_ended_ = false;
  bool completed_ = false;
  bool stopping_ = false;
};

Exploration explore_sleep(const Program& program) {
  Exploration result = explore(SleepModel(program));
  const auto& p = program.pushers;
  std::printf("%d workers, pushers '%s' '%s': %zu states\n", program.workers, p[0].c_str(),
              p[1].c_str(), result.states);
  return result;
}

TEST(SleepWakeModel, SubmittedTasks_AreNeverLeftWhileAllSleep) {
  EXPECT_EQ(explore_sleep({1, {"s"}}).broken, "");
  EXPECT_EQ(explore_sleep({1, {"ss", "s"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"s"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"s", "s"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"ss", "s"}}).broken, "");
}

TEST(SleepWakeModel, TasksOfADeque_AreNotLeftWhileOthersSleep) {
  EXPECT_EQ(explore_sleep({1, {"d"}}).broken, "");
  EXPECT_EQ(explore_sleep({1, {"dd", "d"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"d", "s"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"dd", "d"}}).broken, "");
}

TEST(SleepWakeModel, BoundTasks_WakeTheirWorker) {
  EXPECT_EQ(explore_sleep({1, {"00", "0"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"01", "1"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"s1", "0"}}).broken, "");
}

TEST(SleepWakeModel, TheStop_EndsAllWorkers) {
  EXPECT_EQ(explore_sleep({1, {"x"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"sx", "1"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"x", "s"}}).broken, "");
}

TEST(SleepWakeModel, TheEndOfAHold_IsNoticed) {
  EXPECT_EQ(explore_sleep({1, {"h"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"h", "s"}}).broken, "");
  EXPECT_EQ(explore_sleep({2, {"h", "h"}}).broken, "");
}

TEST(SleepWakeModel, BrokenVariants_AreRejected) {
  using enum Variant;
  EXPECT_NE(explore_sleep({1, {"s"}, sleeper_looks_before_it_raises_its_flag}).broken, "");
  EXPECT_NE(explore_sleep({1, {"s"}, pusher_looks_for_sleepers_before_it_pushes}).broken, "");
  EXPECT_NE(explore_sleep({1, {"s"}, parker_forgets_an_early_unpark}).broken, "");
  EXPECT_NE(explore_sleep({1, {"s"}, sleeper_does_not_look_again}).broken, "");
  EXPECT_NE(explore_sleep({1, {"h"}, sleeper_ignores_that_it_should_look_again}).broken, "");
  EXPECT_NE(explore_sleep({1, {"d"}, sleeper_makes_no_barrier}).broken, "");
  EXPECT_NE(explore_sleep({1, {"d"}, sleeper_looks_before_its_barrier}).broken, "");
}

}  // namespace sync_sleep_wake_test
