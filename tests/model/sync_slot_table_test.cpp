// All interleavings of the free list of sync::SlotTable: up to three threads that take free slots
// and give them back.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <string>

#include "support/explorer.hpp"

namespace sync_slot_table_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  correct,
  counts_nothing,        // the head has no count of changes
  counts_what_is_taken,  // but not what is given back
  links_after_exchange,  // give_back() sets the successor when the head points to the slot
};

struct Program {
  int threads = 0;
  int rounds = 0;  // of each thread: take two slots, if there are, and give them back
  Variant variant = Variant::correct;
};

constexpr int kSlots = 3;
constexpr int kThreadsMax = 3;

/// Each step is one access of the header to the head or to a successor.
class FreeListModel {
 public:
  explicit FreeListModel(const Program& program) : program_(&program) {
    for (int slot = 0; slot < kSlots; ++slot) next_[at(slot)] = slot + 2 <= kSlots ? slot + 2 : 0;
    owner_.fill(-1);
  }
  auto operator<=>(const FreeListModel&) const = default;

  [[nodiscard]] int thread_count() const { return program_->threads; }
  [[nodiscard]] bool can_step(int thread) const {
    return threads_[at(thread)].rounds < program_->rounds;
  }
  void step(int thread) {
    Thread& me = threads_[at(thread)];
    if (me.held < 2 && !me.giving) {
      take(me, thread);
    } else {
      me.giving = true;
      give_back(me);
      if (me.held == 0) {
        me.giving = false;
        ++me.rounds;
      }
    }
  }
  [[nodiscard]] std::string broken() const { return wrong_; }
  [[nodiscard]] std::string broken_at_end() const {
    int count = 0;
    for (int slot = head_; slot != 0 && count <= kSlots; slot = next_[at(slot - 1)]) ++count;
    return count == kSlots ? "" : "free slots at the end: " + std::to_string(count);
  }

 private:
  struct Thread {
    int rounds = 0;
    int held = 0;
    bool giving = false;
    std::array<int, 2> slots{};  // index + 1
    int pc = 0;
    int head = 0;
    int changes = 0;
    int next = 0;
    auto operator<=>(const Thread&) const = default;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  [[nodiscard]] bool exchange(const Thread& me, int to, bool counted) {
    if (head_ != me.head || changes_ != me.changes) return false;
    head_ = to;
    if (counted) ++changes_;
    return true;
  }
  void look(Thread& me) const {
    me.head = head_;
    me.changes = changes_;
  }

  void take(Thread& me, int thread) {
    if (me.pc == 0) {
      look(me);
      if (me.head == 0) {  // the table would grow: this thread goes on with what it has
        me.giving = me.held > 0;
        if (me.held == 0) ++me.rounds;
        return;
      }
      me.pc = 1;
    } else if (me.pc == 1) {
      me.next = next_[at(me.head - 1)];
      me.pc = 2;
    } else {
      const bool counted = program_->variant != Variant::counts_nothing;
      const int slot = me.head;
      if (exchange(me, me.next, counted)) {
        if (owner_[at(slot - 1)] >= 0) wrong_ = "a slot has two owners";
        owner_[at(slot - 1)] = thread;
        me.slots[at(me.held++)] = slot;
      }
      me.pc = 0;
    }
  }
  void give_back(Thread& me) {
    const int slot = me.slots[at(me.held - 1)];
    const bool late = program_->variant == Variant::links_after_exchange;
    if (me.pc == 0) {
      owner_[at(slot - 1)] = -1;
      look(me);
      me.pc = 1;
    } else if (me.pc == 1 && !late) {
      next_[at(slot - 1)] = me.head;
      me.pc = 2;
    } else if (me.pc == 3) {
      next_[at(slot - 1)] = me.head;
      me.pc = 0;
      me.slots[at(--me.held)] = 0;
    } else {
      const bool counted = program_->variant == Variant::correct || late;
      if (!exchange(me, slot, counted)) {
        look(me);
        me.pc = 1;
      } else if (late) {
        me.pc = 3;
      } else {
        me.pc = 0;
        me.slots[at(--me.held)] = 0;
      }
    }
  }

  const Program* program_;
  int head_ = 1;
  int changes_ = 0;
  std::array<int, kSlots> next_{};  // index + 1; 0: none
  std::array<int, kSlots> owner_{};
  std::array<Thread, kThreadsMax> threads_{};
  std::string wrong_;
};

/// Two threads that take one value: by one exchange of the state, or by a look and a store.
class TakeModel {
 public:
  explicit TakeModel(bool exchanges) : exchanges_(exchanges) {}
  auto operator<=>(const TakeModel&) const = default;

  [[nodiscard]] int thread_count() const { return 2; }
  [[nodiscard]] bool can_step(int thread) const {
    return pc_[static_cast<std::size_t>(thread)] < 2;
  }
  void step(int thread) {
    int& pc = pc_[static_cast<std::size_t>(thread)];
    if (pc == 0) {
      pc = full_ ? 1 : 2;
      if (!exchanges_ || !full_) return;
    }
    full_ = false;
    ++taken_;
    pc = 2;
  }
  [[nodiscard]] std::string broken() const { return taken_ > 1 ? "a value was taken twice" : ""; }
  [[nodiscard]] std::string broken_at_end() const { return taken_ == 1 ? "" : "none took it"; }

 private:
  bool exchanges_;
  bool full_ = true;
  int taken_ = 0;
  std::array<int, 2> pc_{};
};

TEST(SlotTableModel, OneOfTwoThreadsTakesAValue) {
  EXPECT_EQ(explore(TakeModel(true)).broken, "");
  EXPECT_EQ(explore(TakeModel(false)).broken, "a value was taken twice");
}

Exploration explore_program(const Program& program) { return explore(FreeListModel(program)); }

TEST(SlotTableModel, EachFreeSlotGoesToOneThread_AndNoneIsLost) {
  for (const Program& program : {Program{2, 2}, Program{3, 1}}) {
    const Exploration found = explore_program(program);
    EXPECT_EQ(found.broken, "");
    EXPECT_GT(found.ends, 0U);
  }
}

TEST(SlotTableModel, FindsWhatIsWrongWithOtherLists) {
  for (const Variant variant : {Variant::counts_nothing, Variant::links_after_exchange}) {
    const Exploration two = explore_program({2, 2, variant});
    const Exploration three = explore_program({3, 1, variant});
    EXPECT_FALSE(two.broken.empty() && three.broken.empty()) << static_cast<int>(variant);
  }
  // Counting one of the two directions is enough: a slot that comes back was taken before.
  EXPECT_EQ(explore_program({2, 2, Variant::counts_what_is_taken}).broken, "");
}

}  // namespace sync_slot_table_test
