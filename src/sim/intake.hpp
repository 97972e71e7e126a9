#pragma once
// Receiving side of a network interface.

#include "sim/simulator.hpp"

#include <cstdint>
#include <deque>

namespace shoal::sim {

struct Reception;

/// Gets what an interface receives.
class Receiver {
 public:
  /// Called when the interface begins to receive it, if `tells_begin` is set.
  virtual void begun(const Reception& /*reception*/, std::uint64_t /*end_ns*/) {}
  /// Called when all of it has been received.
  virtual void received(const Reception& reception) = 0;

 protected:
  ~Receiver() = default;
};

/// A packet or payload that comes to an interface. Copied a lot, so without functions.
struct Reception {
  std::uint64_t first_ns = 0;  // arrival of its first byte, if the interface is free then
  std::uint64_t busy_ns = 0;   // time that it keeps the interface busy
  Receiver* receiver = nullptr;
  // Of the receiver.
  void* item = nullptr;
  std::uint64_t number = 0;
  bool tells_begin = false;
};

/// Receives one packet at a time, in the order in which their first bytes arrive. A packet that
/// finds the interface busy waits in the network.
class Intake {
 public:
  explicit Intake(Simulator& simulator) : simulator_(simulator) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  /// Its first byte does not arrive before now.
  void add(const Reception& reception);

 private:
  void plan();
  void advance();

  Simulator& simulator_;
  std::deque<Reception> coming_;  // by first_ns; the first one may be under way
  std::uint64_t free_ns_ = 0;     // end of the last one that was received
  std::uint64_t version_ = 0;     // of the next entry on the agenda; older ones are void
};

}  // namespace shoal::sim
