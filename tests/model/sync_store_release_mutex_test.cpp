// sync::StoreReleaseMutex, with the stores that give it back in a buffer that the processor of who
// stored empties at any time, or when another thread's barrier makes it.

#include "support/explorer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <utility>

namespace sync_store_release_mutex_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  asymmetric,          // as in the header
  without_barrier,     // who waits relies on its own order alone
  barrier_late,        // the barrier stands behind the look at the lock
  waits_without_word,  // who waits says so when it sleeps already
  looks_first,         // unlock() looks for waiters before it frees the lock
};

/// Each thread takes the lock `kRounds` times. A thread that sleeps goes on when it is notified.
struct State {
  static constexpr int kThreads = 3;
  static constexpr int kRounds = 2;
  enum Pc { kTry, kSay, kBarrier, kTryAgain, kSleep, kAsleep, kInside, kFree, kLook, kFlush, kEnd };

  struct Thread {
    int pc = kTry;
    int round = 1;
    bool waits = false;     // it is counted in waiting
    bool buffered = false;  // its store that frees the lock is not in memory yet
    auto operator<=>(const Thread&) const = default;
  };

  Variant variant{};
  bool locked = false;  // in memory
  int waiting = 0;      // atomic operations only: never in a buffer
  std::array<Thread, kThreads> threads{};
  auto operator<=>(const State&) const = default;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int thread_count() const { return 2 * kThreads; }
  [[nodiscard]] bool can_step(int i) const {
    if (i >= kThreads) return threads[at(i - kThreads)].buffered;
    const Thread& me = threads[at(i)];
    return me.pc != kEnd && me.pc != kAsleep;
  }
  void step(int i) {
    if (i >= kThreads) {
      empty(threads[at(i - kThreads)]);
    } else {
      step_thread(threads[at(i)]);
    }
  }
  [[nodiscard]] std::string broken() const {
    const auto inside = std::count_if(threads.begin(), threads.end(),
                                      [](const Thread& one) { return one.pc == kInside; });
    return inside > 1 ? "two are inside" : "";
  }
  [[nodiscard]] std::string broken_at_end() const {
    const bool all_ended = std::all_of(threads.begin(), threads.end(),
                                       [](const Thread& one) { return one.pc == kEnd; });
    return all_ended ? "" : "one sleeps for ever";
  }

 private:
  void empty(Thread& one) {
    if (std::exchange(one.buffered, false)) locked = false;
  }
  void empty_all() {
    for (Thread& one : threads) empty(one);
  }
  // An atomic operation: what the thread has stored before is in memory.
  bool try_lock(Thread& me) {
    empty(me);
    return !std::exchange(locked, true);
  }
  void enter(Thread& me) {
    if (std::exchange(me.waits, false)) --waiting;
    me.pc = kInside;
  }
  void say(Thread& me) {
    ++waiting;
    me.waits = true;
  }

  void step_thread(Thread& me) {
    switch (me.pc) {
      case kTry:
        if (try_lock(me)) {
          enter(me);
        } else {
          me.pc = variant == Variant::waits_without_word ? kTryAgain : kSay;
        }
        return;
      case kSay:
        empty(me);
        say(me);
        me.pc = variant == Variant::without_barrier || variant == Variant::barrier_late ? kTryAgain
                                                                                        : kBarrier;
        return;
      case kBarrier:
        empty_all();
        me.pc = variant == Variant::barrier_late ? kAsleep : kTryAgain;
        return;
      case kTryAgain:
        if (try_lock(me)) {
          enter(me);
        } else {
          me.pc = kSleep;
        }
        return;
      // The kernel looks at the lock once more, and sleeps in one with that.
      case kSleep:
        me.pc = locked ? kAsleep : kTryAgain;
        if (me.pc == kAsleep && variant == Variant::barrier_late) me.pc = kBarrier;
        if (me.pc == kAsleep && !me.waits) say(me);
        return;
      case kInside:
        me.pc = variant == Variant::looks_first ? kLook : kFree;
        return;
      case kFree:
        me.buffered = true;
        if (variant == Variant::looks_first) return end_round(me);
        me.pc = kLook;
        return;
      case kLook:
        if (variant == Variant::looks_first) {
          if (waiting > 0) notify();
          me.pc = kFree;
        } else if (waiting > 0) {
          me.pc = kFlush;
        } else {
          end_round(me);
        }
        return;
      default:  // kFlush: the fence of let_in()
        empty(me);
        notify();
        end_round(me);
    }
  }
  void notify() {
    for (Thread& one : threads) {
      if (one.pc != kAsleep) continue;
      one.pc = kTryAgain;
      return;
    }
  }
  void end_round(Thread& me) { me.pc = me.round++ == kRounds ? kEnd : kTry; }
};

Exploration explore_variant(Variant variant) {
  State initial;
  initial.variant = variant;
  return explore(initial);
}

TEST(StoreReleaseMutexModel, InEveryInterleaving_OneIsInsideAndNobodySleepsForEver) {
  EXPECT_EQ(explore_variant(Variant::asymmetric).broken, "");
}

TEST(StoreReleaseMutexModel, BrokenVariants_AreRejected) {
  using enum Variant;
  EXPECT_EQ(explore_variant(without_barrier).broken, "one sleeps for ever");
  EXPECT_EQ(explore_variant(barrier_late).broken, "one sleeps for ever");
  EXPECT_EQ(explore_variant(waits_without_word).broken, "one sleeps for ever");
  EXPECT_EQ(explore_variant(looks_first).broken, "one sleeps for ever");
}

}  // namespace sync_store_release_mutex_test
