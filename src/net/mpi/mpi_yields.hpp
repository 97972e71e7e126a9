#pragma once
// Yields inside of MPI.

namespace shoal::net {

/// Where processes share processors, Open MPI yields in each call that finds nothing to do
/// (mpi_yield_when_idle). Beside a program that computes that takes a turn of the scheduler, and
/// one poll of shoal makes several calls. shoal rests between its polls by itself (MpiRest).
class MpiYields {
 public:
  /// Switches the yields on or off, and returns how they were.
  using Switch = int(int on);

  /// Makes an object for an MPI without yields that can be switched.
  MpiYields() = default;
  /// `set`: of an MPI that is initialized; nullptr: it has none.
  explicit MpiYields(Switch* set);

  /// While it lives, they are off for all threads of the process. Free where they are off anyway.
  class Off {
   public:
    explicit Off(const MpiYields& yields) : set_(yields.set_) {
      if (set_ != nullptr) static_cast<void>(set_(0));
    }
    ~Off() {
      if (set_ != nullptr) static_cast<void>(set_(1));
    }
    Off(const Off&) = delete;
    Off& operator=(const Off&) = delete;

   private:
    Switch* const set_;
  };

 private:
  Switch* set_ = nullptr;  // nullptr: there are none, or they are off
};

}  // namespace shoal::net
