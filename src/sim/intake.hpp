#pragma once
// Receiving side of a network interface.

#include "sim/simulator.hpp"

#include <cstdint>
#include <deque>
#include <functional>

namespace shoal::sim {

/// A packet or payload that comes to an interface.
struct Reception {
  std::uint64_t first_ns = 0;  // arrival of its first byte, if the interface is free then
  std::uint64_t busy_ns = 0;   // time that it keeps the interface busy
  /// Called when the interface begins to receive it, with the end; may be empty.
  std::function<void(std::uint64_t end_ns)> begun{};
  /// Called when all of it has been received.
  std::function<void()> received{};
};

/// Receives one packet at a time, in the order in which their first bytes arrive. A packet that
/// finds the interface busy waits in the network.
class Intake {
 public:
  explicit Intake(Simulator& simulator) : simulator_(simulator) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  /// Its first byte does not arrive before now.
  void add(Reception reception);

 private:
  void plan();
  void advance();

  Simulator& simulator_;
  std::deque<Reception> coming_;  // by first_ns; the first one may be under way
  std::uint64_t free_ns_ = 0;     // end of the last one that was received
  std::uint64_t version_ = 0;     // of the next entry on the agenda; older ones are void
};

}  // namespace shoal::sim
