#pragma once
// Something that waits until it is woken: a parked task or a parked foreign thread.

#include <shoal/detail/sync/list.hpp>

#include <cstdint>
#include <utility>

namespace shoal::sync {

/// Entry of at most one list; woken exactly once. After wake() the object may be gone.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  virtual void wake() = 0;

  // Guarded by the lock of its list.
  ListLink<Waiter> link;
  bool listed = false;

 protected:
  ~Waiter() = default;
};

/// Waiters taken out of a list, in their order: no other thread finds them in any list. Their
/// holder wakes them, without a lock.
class TakenWaiters {
 public:
  /// It is in no list any more.
  void push(Waiter& waiter) {
    waiter.link.next = nullptr;
    (last_ != nullptr ? last_->link.next : first_) = &waiter;
    last_ = &waiter;
  }
  void wake_all() {
    last_ = nullptr;
    for (Waiter* waiter = std::exchange(first_, nullptr); waiter != nullptr;) {
      Waiter* const next = waiter->link.next;  // once woken it may be gone
      waiter->wake();
      waiter = next;
    }
  }

 private:
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

/// List of waiters, first in, first out. Its owner locks.
class WaiterList {
 public:
  [[nodiscard]] bool empty() const { return list_.empty(); }
  void push(Waiter& waiter) {
    waiter.listed = true;
    list_.push_back(waiter);
  }
  /// Removes the first waiter and returns it; nullptr if there is none.
  Waiter* pop() {
    Waiter* const waiter = list_.first();
    if (waiter != nullptr) remove(*waiter);
    return waiter;
  }
  /// Removes a waiter; returns false if it is in no list.
  bool remove(Waiter& waiter) {
    if (!std::exchange(waiter.listed, false)) return false;
    list_.erase(waiter);
    return true;
  }
  /// Up to `count` of the first ones; subtracts how many.
  [[nodiscard]] TakenWaiters take(std::int64_t& count) {
    TakenWaiters taken;
    for (; count > 0 && !empty(); --count) taken.push(*pop());
    return taken;
  }
  [[nodiscard]] TakenWaiters take_all() {
    TakenWaiters taken;
    while (Waiter* const waiter = pop()) taken.push(*waiter);
    return taken;
  }

 private:
  List<Waiter, &Waiter::link> list_;
};

}  // namespace shoal::sync
