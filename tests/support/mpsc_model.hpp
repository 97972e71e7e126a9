#pragma once
// sync::MpscQueue as a model: each step is one access of the header to shared memory.

#include <array>
#include <compare>
#include <cstddef>

namespace shoal::testing {

/// Nodes are numbered; kStub is the queue's own. Each node is pushed once.
class MpscModel {
 public:
  static constexpr int kStub = 0;
  static constexpr int kNone = -1;
  static constexpr int kNodesMax = 5;  // with the stub

  enum class Variant {
    correct,
    push_links_first,      // next_ of the node that was head, before head_ itself, without exchange
    looks_at_head_alone,   // looks_empty() does not ask whether nodes wait in front of the stub
    pop_ignores_the_head,  // takes the last node without looking for a push that is half done
  };

  struct Push {
    int pc = 0;
    int previous = kNone;
    auto operator<=>(const Push&) const = default;
  };
  struct Pop {
    int pc = 0;
    int tail = kNone;
    int next = kNone;
    auto operator<=>(const Pop&) const = default;
  };
  enum class Outcome { running, nothing, popped };

  explicit MpscModel(Variant variant) : variant_(variant) { next_.fill(kNone); }
  auto operator<=>(const MpscModel&) const = default;

  /// True when the push is complete.
  bool step(Push& me, int node) {
    const bool broken = variant_ == Variant::push_links_first;
    if (me.pc++ == 0) {
      next(node) = kNone;
      me.previous = head_;
      if (broken) {
        next(me.previous) = node;
      } else {
        head_ = node;
      }
      return false;
    }
    if (broken) {
      head_ = node;
    } else {
      next(me.previous) = node;
    }
    me = Push();
    return true;
  }

  /// popped: the node is in `node`.
  Outcome step(Pop& me, int& node) {
    switch (me.pc++) {
      case 0:
        me.tail = tail_;
        me.next = next(me.tail);
        if (me.tail != kStub) {
          me.pc = 2;
          return me.next == kNone ? Outcome::running : take(me, node);
        }
        if (me.next == kNone) return leave(me);
        tail_ = me.tail = me.next;
        return Outcome::running;
      case 1:  // the first node behind the stub
        me.next = next(me.tail);
        return me.next == kNone ? Outcome::running : take(me, node);
      case 2:
        if (me.tail != head_ && variant_ != Variant::pop_ignores_the_head) return leave(me);
        return Outcome::running;
      case 3:
        if (!step(stub_push_, kStub)) me.pc = 3;
        return Outcome::running;
      default:
        me.next = next(me.tail);
        if (me.next == kNone) return leave(me);
        return take(me, node);
    }
  }

  /// One access, or two of which the second decides: the first reads what only a consumer writes.
  [[nodiscard]] bool looks_empty() const {
    return head_ == kStub && (tail_ == kStub || variant_ == Variant::looks_at_head_alone);
  }

 private:
  int& next(int node) { return next_[static_cast<std::size_t>(node)]; }
  static Outcome leave(Pop& me) {
    me = Pop();
    return Outcome::nothing;
  }
  Outcome take(Pop& me, int& node) {
    node = me.tail;
    tail_ = me.next;
    me = Pop();
    return Outcome::popped;
  }

  Variant variant_;
  int head_ = kStub;
  int tail_ = kStub;
  std::array<int, kNodesMax> next_{};
  Push stub_push_;
};

}  // namespace shoal::testing
