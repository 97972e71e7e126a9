// team::DeferredReclaim, with what the handling thread stores in a buffer that its processor
// empties at any time, or when another thread's barrier makes it: no handler is used after its end,
// and each one that was removed ends.

#include "support/explorer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <utility>

namespace team_deferred_reclaim_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  asymmetric,          // as in the header
  without_barrier,     // who removes relies on its own order alone
  looks_first,         // who handles looks at the count before it says that it does
  counts_late,         // who removes looks at who handles before it counts
  destroys_all,        // who removes destroys what others have removed, too
  no_look_afterwards,  // who handles does not look at the count again
  waits,               // who removes waits until its handler does not run: see close_handlers()
  waits_for_count,     // the same, but only until who handles has seen its count
  waits_for_any_count  // the same, but until who handles has seen the count of any other
};

/// Thread 0 handles packets, each with one message for each handler; the next ones remove a handler
/// each; the last one empties the buffer of thread 0.
struct State {
  static constexpr int kHandlers = 2;
  static constexpr int kPackets = 2;
  enum Pc { kSay, kLook, kFind, kUse, kSayThrough, kLookAfterwards, kEnd };
  enum RemoverPc {
    kTake,
    kCount,
    kBarrier,
    kLookAtHandling,
    kDestroy,
    kCountLate,
    kAwait,
    kRemoved
  };

  struct Handler {
    bool found = true;    // in the table
    bool listed = false;  // in removed_
    bool ended = false;
    bool kept = false;  // by who handles
    int remover = kTake;
    int number = 0;     // the count when it was removed
    bool gone = false;  // what it refers to, after its remover has waited
    auto operator<=>(const Handler&) const = default;
  };

  Variant variant{};
  int pc = kSay;
  int packet = 0;
  int at_hand = 0;  // the message's handler
  int seen = 0;
  int count = 0;                           // atomic operations only: never in a buffer
  bool handling = false;                   // in memory
  std::array<int, 2 * kPackets> buffer{};  // what handling becomes, first to last
  int buffered = 0;
  bool used_after_end = false;
  std::array<Handler, kHandlers> handlers{};
  auto operator<=>(const State&) const = default;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int thread_count() const { return kHandlers + 2; }
  [[nodiscard]] bool can_step(int i) const {
    if (i == 0) return pc != kEnd;
    if (i <= kHandlers) {
      const Handler& one = handlers[at(i - 1)];
      return one.remover == kAwait ? !may_run(one) : one.remover != kRemoved;
    }
    return buffered > 0;
  }
  void step(int i) {
    if (i == 0) {
      handle();
    } else if (i <= kHandlers) {
      remove(handlers[at(i - 1)]);
    } else {
      empty_one();
    }
  }
  [[nodiscard]] std::string broken() const { return used_after_end ? "used after its end" : ""; }
  [[nodiscard]] std::string broken_at_end() const {
    const bool all_ended =
        std::all_of(handlers.begin(), handlers.end(), [](const Handler& one) { return one.ended; });
    if (!all_ended) return "one was never destroyed";
    const bool all_return = std::all_of(handlers.begin(), handlers.end(),
                                        [](const Handler& one) { return one.remover == kRemoved; });
    return all_return ? "" : "who removes waits for ever";
  }

 private:
  [[nodiscard]] bool waits() const { return variant >= Variant::waits; }
  [[nodiscard]] bool may_run(const Handler& one) const {
    if (variant == Variant::waits_for_any_count) return handling && seen == 0;
    return (handling || variant == Variant::waits_for_count) && seen < one.number;
  }
  void empty_one() {
    handling = buffer[0] != 0;
    std::shift_left(buffer.begin(), buffer.end(), 1);
    buffer[at(--buffered)] = 0;
  }
  void empty() {
    while (buffered > 0) empty_one();
  }
  void store(bool value) { buffer[at(buffered++)] = value ? 1 : 0; }
  static void destroy(Handler& one) {
    if (std::exchange(one.listed, false)) one.ended = true;
  }
  void destroy_listed() {
    for (Handler& one : handlers) destroy(one);
  }
  // Under the lock: an atomic operation, before which the buffer is empty.
  void look() {
    if (count == seen) return;
    empty();
    for (Handler& one : handlers) one.kept = false;
    seen = count;
    destroy_listed();
  }

  void handle() {
    Handler& one = handlers[at(at_hand)];
    switch (pc) {
      case kSay:
        if (variant == Variant::looks_first) {
          look();
        } else {
          store(true);
        }
        pc = kLook;
        return;
      case kLook:
        if (variant == Variant::looks_first) {
          store(true);
        } else {
          look();
        }
        at_hand = 0;
        pc = kFind;
        return;
      case kFind:
        if (!one.kept) {
          empty();
          one.kept = one.found;
        }
        if (one.kept) {
          pc = kUse;
        } else {
          next_message();
        }
        return;
      case kUse:
        if (one.ended || one.gone) used_after_end = true;
        next_message();
        return;
      case kSayThrough:
        store(false);
        pc = kLookAfterwards;
        return;
      default:  // kLookAfterwards
        if (variant != Variant::no_look_afterwards) look();
        pc = ++packet == kPackets ? kEnd : kSay;
    }
  }
  void next_message() { pc = ++at_hand == kHandlers ? kSayThrough : kFind; }

  void remove(Handler& one) {
    switch (one.remover) {
      case kTake:
        one.found = false;
        one.remover = kCount;
        if (variant != Variant::counts_late) return;
        one.listed = true;
        one.remover = kBarrier;
        return;
      case kCount:
        one.listed = true;
        one.number = ++count;
        one.remover = variant == Variant::without_barrier ? kLookAtHandling : kBarrier;
        return;
      case kBarrier:
        empty();
        one.remover = kLookAtHandling;
        return;
      case kLookAtHandling:
        if (variant == Variant::counts_late) {
          one.remover = handling ? kCountLate : kDestroy;
        } else {
          one.remover = !handling ? kDestroy : waits() ? kAwait : kRemoved;
        }
        return;
      case kDestroy:
        if (variant == Variant::destroys_all) {
          destroy_listed();
        } else {
          destroy(one);
        }
        one.remover = variant == Variant::counts_late ? kCountLate : waits() ? kAwait : kRemoved;
        return;
      case kAwait:
        one.gone = true;
        one.remover = kRemoved;
        return;
      default:  // kCountLate
        ++count;
        one.remover = kRemoved;
    }
  }
};

Exploration explore_variant(Variant variant) {
  State initial;
  initial.variant = variant;
  return explore(initial);
}

TEST(DeferredReclaimModel, InEveryInterleaving_NoneIsUsedAfterItsEnd_AndAllEnd) {
  EXPECT_EQ(explore_variant(Variant::asymmetric).broken, "");
}

TEST(DeferredReclaimModel, InEveryInterleaving_WhoWaitsOutlivesItsHandler) {
  EXPECT_EQ(explore_variant(Variant::waits).broken, "");
}

TEST(DeferredReclaimModel, BrokenVariants_AreRejected) {
  using enum Variant;
  EXPECT_EQ(explore_variant(without_barrier).broken, "used after its end");
  EXPECT_EQ(explore_variant(looks_first).broken, "used after its end");
  EXPECT_EQ(explore_variant(counts_late).broken, "used after its end");
  EXPECT_EQ(explore_variant(destroys_all).broken, "used after its end");
  EXPECT_EQ(explore_variant(no_look_afterwards).broken, "one was never destroyed");
  EXPECT_EQ(explore_variant(waits_for_count).broken, "who removes waits for ever");
  EXPECT_EQ(explore_variant(waits_for_any_count).broken, "used after its end");
}

}  // namespace team_deferred_reclaim_test
