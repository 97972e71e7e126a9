#pragma once
// How long a piece of work takes, as the program declares it for the simulator.

namespace shoal {

/// The time that a piece of work takes on one worker: `seconds`, and what `flops` floating-point
/// operations take at the rate of --sim-flops.
struct Cost {
  double seconds = 0;
  double flops = 0;

  [[nodiscard]] static constexpr Cost of_seconds(double value) { return {value, 0}; }
  [[nodiscard]] static constexpr Cost of_flops(double value) { return {0, value}; }
};

}  // namespace shoal
