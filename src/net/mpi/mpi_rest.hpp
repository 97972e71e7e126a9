#pragma once
// Rests of a thread whose polls find nothing, while no other thread can wake it.

#include <shoal/detail/env/env.hpp>

#include <cstdint>

#include "env/crowding.hpp"

namespace shoal::net {

/// Spins, yields unless other programs compute, and sleeps; the longer nothing came, the longer.
/// One thread's own.
class MpiRest {
 public:
  explicit MpiRest(env::Env& env) : env_(env) {}

  /// After a poll that found something.
  void end() { idle_polls_ = 0; }
  /// After a poll that found nothing: may yield. Time to sleep before the next poll; 0: none.
  [[nodiscard]] std::uint64_t next_sleep_ns();
  /// The same, and sleeps for so long.
  void pause();

 private:
  env::Env& env_;
  env::Crowding crowding_;
  int idle_polls_ = 0;
};

}  // namespace shoal::net
