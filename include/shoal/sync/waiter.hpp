#pragma once
// Something that stands still until it is woken: a parked task or a parked foreign thread.

#include <cstdint>
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

/// Those taken out of a list, in their order: nobody else finds them in any list. Whoever has them
/// wakes them, without a lock.
class TakenWaiters {
 public:
  /// It stands in no list any more.
  void push(Waiter& waiter) {
    waiter.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &waiter;
    last_ = &waiter;
  }
  void wake_all() {
    last_ = nullptr;
    for (Waiter* waiter = std::exchange(first_, nullptr); waiter != nullptr;) {
      Waiter* const next = waiter->next;  // once woken it may be gone
      waiter->wake();
      waiter = next;
    }
  }

 private:
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
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
  /// Up to `count` of the first ones; subtracts how many.
  [[nodiscard]] TakenWaiters take(std::int64_t& count) {
    TakenWaiters taken;
    for (; count > 0 && first_ != nullptr; --count) taken.push(*pop());
    return taken;
  }
  [[nodiscard]] TakenWaiters take_all() {
    TakenWaiters taken;
    while (Waiter* const waiter = pop()) taken.push(*waiter);
    return taken;
  }

 private:
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace shoal::sync
