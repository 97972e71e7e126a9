#pragma once
// How long a piece of work takes, as the program declares it for the simulator.

#include <shoal/detail/base/language.hpp>

namespace shoal {

/// Time that a piece of work takes on one worker: `seconds`, and the time of `flops` floating-point
/// operations at the rate of --sim-flops; or longer, if its memory traffic takes longer on the
/// machine of --sim-memory. Without --sim-memory, memory traffic takes no time.
struct Cost {
  /// Time that does not depend on the rate.
  double seconds = 0;
  /// Floating-point operations.
  double flops = 0;
  /// Memory traffic: bytes that caches do not save.
  double bytes = 0;

  /// A cost in seconds.
  [[nodiscard]] static constexpr Cost of_seconds(double value) { return {value, 0, 0}; }
  /// A cost in floating-point operations.
  [[nodiscard]] static constexpr Cost of_flops(double value) { return {0, value, 0}; }
  /// Floating-point operations, and the bytes that they read and write in memory.
  [[nodiscard]] static constexpr Cost of_traffic(double bytes, double flops = 0) {
    return {0, flops, bytes};
  }

  /// Number of floating-point operations per byte below which work is memory-bound: that of machine
  /// henri in the thesis on interactions of computation and communication (section 5.3.5); other
  /// machines have 20.
  static constexpr double kMemoryBoundIntensity = 6;
  /// Returns whether work of this cost competes with transfers for memory bandwidth.
  [[nodiscard]] constexpr bool is_memory_bound() const {
    return bytes > 0 && flops < kMemoryBoundIntensity * bytes;
  }
};

}  // namespace shoal
