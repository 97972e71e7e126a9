// sync::Inspectable, with the owner's store in a buffer that its processor empties at any time, or
// when the inspector's barrier makes it.

#include "support/explorer.hpp"

#include <gtest/gtest.h>

#include <compare>
#include <string>

namespace sync_inspectable_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  asymmetric,       // as in the header
  without_barrier,  // the inspector relies on its own order alone
  barrier_late,     // the inspector's barrier stands behind its look
  hides_late,       // the owner looks for visits before it hides
};

/// The owner shows, hides and ends the object `rounds` times; the inspector visits as often.
struct State {
  static constexpr int kRounds = 2;
  static constexpr int kOwner = 0;
  static constexpr int kInspector = 1;
  static constexpr int kBuffer = 2;  // the owner's processor, which empties the buffer

  Variant variant{};
  int shown = 0;          // in memory: the number of the object, 0: none
  bool visiting = false;  // in memory
  bool has_buffered = false;
  int buffered = 0;  // the owner's last store, not in memory yet
  int alive = 0;     // the number of the object that exists
  int owner = 0;
  int owner_round = 1;
  int inspector = 0;
  int inspector_round = 1;
  int visited = 0;  // what the inspector looks at, 0: nothing
  auto operator<=>(const State&) const = default;

  [[nodiscard]] int thread_count() const { return 3; }
  [[nodiscard]] bool can_step(int thread) const {
    if (thread == kBuffer) return has_buffered;
    if (thread == kInspector) return inspector_round <= kRounds;
    if (owner_round > kRounds) return false;
    // A store waits for the one before it.
    return !((owner == 0 || owner == hide_step()) && has_buffered);
  }

  void step(int thread) {
    if (thread == kBuffer) {
      flush();
    } else if (thread == kOwner) {
      step_owner();
    } else {
      step_inspector();
    }
  }
  [[nodiscard]] std::string broken() const {
    return visited != 0 && visited != alive ? "an object is visited that has ended" : "";
  }
  [[nodiscard]] std::string broken_at_end() const {
    return shown == 0 ? "" : "something is shown at the end";
  }

 private:
  [[nodiscard]] int hide_step() const { return variant == Variant::hides_late ? 2 : 1; }
  void flush() {
    if (has_buffered) shown = buffered;
    has_buffered = false;
  }
  void store(int value) {
    has_buffered = true;
    buffered = value;
  }
  void step_owner() {
    if (owner == 0) {
      alive = owner_round;
      store(owner_round);
      owner = 1;
    } else if (owner == hide_step()) {
      store(0);
      ++owner;
    } else if (owner < 3) {
      if (!visiting) ++owner;  // else: waits
    } else {
      alive = 0;
      owner = 0;
      ++owner_round;
    }
  }
  void step_inspector() {
    const bool barrier_first = variant != Variant::barrier_late;
    switch (inspector++) {
      case 0:
        visiting = true;
        return;
      case 1:
        if (barrier_first) {
          barrier();
        } else {
          visited = shown;
        }
        return;
      case 2:
        if (barrier_first) {
          visited = shown;
        } else {
          barrier();
        }
        return;
      case 3:
        visited = 0;
        return;
      default:
        visiting = false;
        inspector = 0;
        ++inspector_round;
    }
  }
  void barrier() {
    if (variant != Variant::without_barrier) flush();
  }
};

Exploration explore_variant(Variant variant) {
  State initial;
  initial.variant = variant;
  return explore(initial);
}

TEST(Inspectable, InEveryInterleaving_NothingIsVisitedThatHasEnded) {
  const Exploration result = explore_variant(Variant::asymmetric);
  EXPECT_EQ(result.broken, "");
  EXPECT_GT(result.states, 100U);
  EXPECT_GT(result.ends, 0U);
}

TEST(Inspectable, MistakesInTheProtocol_AreFound) {
  for (const Variant variant :
       {Variant::without_barrier, Variant::barrier_late, Variant::hides_late}) {
    EXPECT_NE(explore_variant(variant).broken, "") << static_cast<int>(variant);
  }
}

}  // namespace sync_inspectable_test
