#pragma once
// Something that stands still until it is woken: a parked task or a parked foreign thread.

namespace shoal::sync {

/// Stands in at most one list; woken exactly once. After wake() the object may be gone.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  virtual void wake() = 0;

  Waiter* next = nullptr;  // guarded by the lock of the list it stands in

 protected:
  ~Waiter() = default;
};

}  // namespace shoal::sync
