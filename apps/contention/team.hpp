#pragma once
// Threads that compute, bound to cores.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "contention/host.hpp"
#include "contention/measurements.hpp"

namespace contention {

using Clock = std::chrono::steady_clock;

/// Results of a team.
struct TeamResult {
  double rate = 0;  // MB/s, or 10^6 operations per second
  std::optional<double> core_mhz;
};

/// Computing threads, started anew for each measurement; their memory is kept.
class Team {
 public:
  /// Each core computes on `memory_bytes` of its own.
  Team(const Host& host, std::size_t memory_bytes);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Starts the kernel of a point on its cores. Returns when all threads compute; they go on until
  /// the time that is returned. Errors: InputError when memory or threads cannot be had.
  [[nodiscard]] Clock::time_point start(const Point& point, Clock::duration duration);
  /// Blocks until the threads have ended. Passes during which not all of them were busy count only
  /// if a thread has no others.
  [[nodiscard]] TeamResult finish();

 private:
  struct Shared;
  struct Worker;

  const Host& host_;
  const std::size_t memory_bytes_;
  int memory_node_ = -1;
  std::vector<Host::Memory> memory_;  // one per core
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace contention
