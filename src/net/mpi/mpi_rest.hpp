#pragma once
// Rests of a thread whose polls find nothing, while no other thread can wake it.

#include <shoal/detail/env/env.hpp>

#include <cstdint>

#include "env/crowding.hpp"

namespace shoal::net {

/// Rest between polls: spins, then yields unless other programs compute, then sleeps, for a time
/// that grows while nothing arrives. **Caller**: one thread.
class MpiRest {
 public:
  explicit MpiRest(env::Env& env) : env_(env) {}

  /// Called after a poll that found something.
  void end() { idle_polls_ = 0; }
  /// Called after a poll that found nothing: may yield. Returns the time to sleep before the next
  /// poll; 0: none.
  [[nodiscard]] std::uint64_t next_sleep_ns();
  /// Called after a poll that found nothing: yields or sleeps before the next poll.
  void pause();

 private:
  env::Env& env_;
  env::Crowding crowding_;
  int idle_polls_ = 0;
};

}  // namespace shoal::net
