#pragma once
// Something that stands still until it is woken: a parked task or a parked foreign thread.

#include <utility>

namespace shoal::sync {

/// Stands in at most one list; woken exactly once. After wake() the object may be gone.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  virtual void wake() = 0;

  // Guarded by the lock of the list it stands in.
  Waiter* next = nullptr;
  Waiter* previous = nullptr;
  bool listed = false;

 protected:
  ~Waiter() = default;
};

/// Those that wait, first in, first out. Its owner locks.
class WaiterList {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  void push(Waiter& waiter) {
    waiter.listed = true;
    waiter.next = nullptr;
    waiter.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &waiter;
    last_ = &waiter;
  }
  /// nullptr when empty.
  Waiter* pop() {
    Waiter* const waiter = first_;
    if (waiter != nullptr) remove(*waiter);
    return waiter;
  }
  /// False: it does not stand here, nor in any other list.
  bool remove(Waiter& waiter) {
    if (!std::exchange(waiter.listed, false)) return false;
    (waiter.previous != nullptr ? waiter.previous->next : first_) = waiter.next;
    (waiter.next != nullptr ? waiter.next->previous : last_) = waiter.previous;
    return true;
  }
  /// Wakes all of a list that nobody else sees.
  void wake_all() {
    while (Waiter* const waiter = pop()) waiter->wake();
  }

 private:
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace shoal::sync
