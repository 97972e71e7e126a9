#pragma once
// Intrusive queue: many producers, one consumer at a time.

#include <atomic>

namespace shoal::sync {

/// Base of elements of an MpscQueue; each is in at most one queue at a time.
class MpscNode {
 public:
  MpscNode() = default;
  MpscNode(const MpscNode&) = delete;
  MpscNode& operator=(const MpscNode&) = delete;

 protected:
  ~MpscNode() = default;

 private:
  friend class MpscQueue;
  std::atomic<MpscNode*> next_{nullptr};
};

/// FIFO per producer. A producer never waits; the consumer may see the queue as empty for the
/// moment between a producer's two steps, and sees the node at a later try.
/// Source: D. Vyukov, "Intrusive MPSC node-based queue" (1024cores.net).
///
/// Invariant: following next_ from tail_ reaches every node pushed and not popped, up to the
/// first node whose successor's producer has done its exchange and not yet its store.
class MpscQueue {
 public:
  MpscQueue() : head_(&stub_), tail_(&stub_) {}
  MpscQueue(const MpscQueue&) = delete;
  MpscQueue& operator=(const MpscQueue&) = delete;

  /// Adds a node at the end. **Caller**: any thread. seq_cst: orders the push before the caller's
  /// later look at a sleeper's flag.
  void push(MpscNode* node) {
    // relaxed: published by the exchange (release part) together with the node's content.
    node->next_.store(nullptr, std::memory_order_relaxed);
    MpscNode* previous = head_.exchange(node, std::memory_order_seq_cst);
    previous->next_.store(node, std::memory_order_release);  // pairs with the acquire in try_pop
  }

  /// The one consumer. nullptr: empty, or a push is half done.
  [[nodiscard]] MpscNode* try_pop() {
    MpscNode* tail = tail_.load(std::memory_order_relaxed);  // the consumer's own value
    MpscNode* next = tail->next_.load(std::memory_order_acquire);
    if (tail == &stub_) {
      if (next == nullptr) return nullptr;
      set_tail(next);
      tail = next;
      next = next->next_.load(std::memory_order_acquire);
    }
    if (next != nullptr) {
      set_tail(next);
      return tail;
    }
    if (tail != head_.load(std::memory_order_acquire)) return nullptr;
    push(&stub_);
    next = tail->next_.load(std::memory_order_acquire);
    if (next == nullptr) return nullptr;
    set_tail(next);
    return tail;
  }

  /// Returns false if a node was pushed and not popped yet, or was just popped. **Caller**: any
  /// thread.
  [[nodiscard]] bool looks_empty() const {
    // A push that races with the last pop may put its node between that one and the stub: the stub
    // is the head, and yet not alone. So the tail counts as well.
    // seq_cst: a worker that is about to sleep looks here after raising its flag. relaxed: a
    // reader of the stub as head, pushed by the consumer, sees the tail as it was then, or later.
    return head_.load(std::memory_order_seq_cst) == &stub_ &&
           tail_.load(std::memory_order_relaxed) == &stub_;
  }

 private:
  // relaxed: read back by the consumer, and by looks_empty(), which says why that is enough
  void set_tail(MpscNode* node) { tail_.store(node, std::memory_order_relaxed); }

  alignas(64) std::atomic<MpscNode*> head_;  // producers write
  alignas(64) std::atomic<MpscNode*> tail_;  // the consumer writes
  MpscNode stub_;
};

}  // namespace shoal::sync
