// All interleavings of sync::WorkDeque's algorithm: each step of the model is one access of the
// header to shared memory. The broken variants show that the explorer would notice.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "support/explorer.hpp"

namespace sync_work_deque_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  correct,
  pop_takes_last_item_unasked,  // without the exchange on top_
  pop_looks_before_it_claims,   // loads top_ before it stores bottom_
  steal_stores_top,             // instead of exchanging it
  steal_loads_bottom_first,
  grow_forgets_items,
};

struct Program {
  std::string owner;  // 'p' pushes the next item, 'o' pops one
  int thieves = 0;
  int steals = 0;  // tries of each thief
  Variant variant = Variant::correct;
};

constexpr int kItemsMax = 6;
constexpr int kRings = 3;
constexpr int kFirstCapacity = 2;
constexpr int kSlotsMax = kFirstCapacity << (kRings - 1);
constexpr int kThreads = 3;  // the owner and two thieves at most

class DequeModel {
 public:
  explicit DequeModel(const Program& program) : program_(&program) {
    for (auto& ring : rings_) ring.fill(kNothing);
  }
  auto operator<=>(const DequeModel&) const = default;

  [[nodiscard]] int thread_count() const { return 1 + program_->thieves; }
  [[nodiscard]] bool can_step(int thread) const {
    const Local& me = local(thread);
    if (thread == 0) return me.done < static_cast<int>(program_->owner.size());
    return me.done < program_->steals;
  }
  void step(int thread) {
    Local& me = locals_[static_cast<std::size_t>(thread)];
    if (thread > 0) {
      steal_step(me);
    } else if (program_->owner[static_cast<std::size_t>(me.done)] == 'p') {
      push_step(me);
    } else {
      pop_step(me);
    }
  }
  [[nodiscard]] std::string broken() const {
    if (took_nothing_) return "a slot without an item was taken";
    for (int item = 0; item < kItemsMax; ++item) {
      if (taken_[at(item)] > 1) return "item " + std::to_string(item) + " was taken twice";
    }
    return "";
  }
  [[nodiscard]] std::string broken_at_end() const {
    auto seen = taken_;
    for (int i = top_; i < bottom_; ++i) {
      const int item = slot(ring_, i);
      if (item == kNothing) return "the deque has a hole";
      ++seen[at(item)];
    }
    for (int item = 0; item < pushed_; ++item) {
      if (seen[at(item)] != 1) return "item " + std::to_string(item) + " was lost";
    }
    return "";
  }

 private:
  static constexpr int kNothing = -1;
  struct Local {
    int pc = 0;
    int done = 0;  // operations
    int top = 0;
    int bottom = 0;
    int ring = 0;
    int item = 0;
    auto operator<=>(const Local&) const = default;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static int capacity(int ring) { return kFirstCapacity << ring; }
  [[nodiscard]] const Local& local(int thread) const { return locals_[at(thread)]; }
  [[nodiscard]] int slot(int ring, int i) const { return rings_[at(ring)][at(i % capacity(ring))]; }
  void put(int ring, int i, int item) { rings_[at(ring)][at(i % capacity(ring))] = item; }
  [[nodiscard]] bool is(Variant variant) const { return program_->variant == variant; }
  void finish(Local& me) {
    const int done = me.done + 1;
    me = Local();  // states that differ only in dead variables are one
    me.done = done;
  }
  void take(int item) {
    if (item == kNothing) {
      took_nothing_ = true;
    } else {
      ++taken_[at(item)];
    }
  }
  bool exchange_top(int expected) {
    if (top_ != expected) return false;
    ++top_;
    return true;
  }

  void push_step(Local& me) {
    switch (me.pc++) {
      case 0:
        me.top = top_;
        if (bottom_ - me.top < capacity(ring_)) me.pc = 2;
        return;
      case 1: {  // the copy belongs to this thread until ring_ says so
        const int from = is(Variant::grow_forgets_items) ? me.top + 1 : me.top;
        for (int i = from; i < bottom_; ++i) put(ring_ + 1, i, slot(ring_, i));
        ++ring_;
        return;
      }
      case 2:
        put(ring_, bottom_, pushed_++);
        return;
      default:
        ++bottom_;
        finish(me);
    }
  }

  void pop_step(Local& me) {
    const bool swapped = is(Variant::pop_looks_before_it_claims);
    switch (me.pc++) {
      case 0:
        if (swapped) {
          me.top = top_;
        } else {
          --bottom_;
        }
        return;
      case 1:
        if (swapped) {
          --bottom_;
        } else {
          me.top = top_;
        }
        if (me.top > bottom_) {
          me.item = kNothing;
          me.pc = 3;
          return;
        }
        me.item = slot(ring_, bottom_);
        if (me.top == bottom_) return;
        take(me.item);
        finish(me);
        return;
      case 2:
        if (is(Variant::pop_takes_last_item_unasked)) {
          top_ = me.top + 1;
        } else if (!exchange_top(me.top)) {
          me.item = kNothing;
        }
        return;
      default:
        ++bottom_;
        if (me.item != kNothing) take(me.item);
        finish(me);
    }
  }

  void steal_step(Local& me) {
    const bool swapped = is(Variant::steal_loads_bottom_first);
    switch (me.pc++) {
      case 0:
      case 1:
        if ((me.pc == 1) != swapped) {
          me.top = top_;
        } else {
          me.bottom = bottom_;
        }
        if (me.pc == 2 && me.top >= me.bottom) finish(me);
        return;
      case 2:
        me.bottom = 0;  // dead
        me.ring = ring_;
        return;
      case 3:
        me.item = slot(me.ring, me.top);
        return;
      default:
        if (is(Variant::steal_stores_top)) {
          top_ = me.top + 1;
          take(me.item);
        } else if (exchange_top(me.top)) {
          take(me.item);
        }
        finish(me);
    }
  }

  const Program* program_;
  int top_ = 0;
  int bottom_ = 0;
  int ring_ = 0;
  int pushed_ = 0;
  std::array<std::array<int, kSlotsMax>, kRings> rings_{};
  std::array<int, kItemsMax> taken_{};
  bool took_nothing_ = false;
  std::array<Local, kThreads> locals_;
};

Exploration explore_deque(const Program& program) {
  Exploration result = explore(DequeModel(program));
  std::printf("owner %s, %d thieves with %d tries: %zu states, %zu ends\n", program.owner.c_str(),
              program.thieves, program.steals, result.states, result.ends);
  return result;
}

TEST(WorkDequeModel, Steal_WhenOneItemLeft_ExactlyOneWins) {
  for (const int thieves : {1, 2}) {
    for (const int steals : {1, 2}) {
      EXPECT_EQ(explore_deque({"po", thieves, steals}).broken, "");
      EXPECT_EQ(explore_deque({"popo", thieves, steals}).broken, "");
    }
  }
}

TEST(WorkDequeModel, PushesPopsAndSteals_TakeEachItemOnce) {
  for (const char* owner : {"ppoo", "ppooo", "popopo", "ppopoo", "ppoppooo"}) {
    EXPECT_EQ(explore_deque({owner, 1, 3}).broken, "");
    EXPECT_EQ(explore_deque({owner, 2, 2}).broken, "");
  }
}

TEST(WorkDequeModel, Growing_WhileThievesReadTheOldRing_TakesEachItemOnce) {
  for (const char* owner : {"pppooo", "pppoppoo", "ppppppoo"}) {
    EXPECT_EQ(explore_deque({owner, 1, 3}).broken, "");
    EXPECT_EQ(explore_deque({owner, 2, 2}).broken, "");
  }
}

TEST(WorkDequeModel, BrokenVariants_AreRejected) {
  EXPECT_NE(explore_deque({"po", 1, 1, Variant::pop_takes_last_item_unasked}).broken, "");
  EXPECT_NE(explore_deque({"ppo", 1, 2, Variant::pop_looks_before_it_claims}).broken, "");
  EXPECT_NE(explore_deque({"pp", 2, 1, Variant::steal_stores_top}).broken, "");
  EXPECT_NE(explore_deque({"ppoo", 1, 1, Variant::steal_loads_bottom_first}).broken, "");
  EXPECT_NE(explore_deque({"pppp", 1, 1, Variant::grow_forgets_items}).broken, "");
}

}  // namespace sync_work_deque_test
