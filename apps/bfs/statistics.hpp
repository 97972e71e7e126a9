#pragma once
// The statistics of the Graph500 specification.

#include <vector>

namespace bfs {

struct Statistics {
  double min = 0;
  double first_quartile = 0;
  double median = 0;
  double third_quartile = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;
};

/// Statistics of at least one value. Quartiles between two values are interpolated linearly (the
/// specification leaves this open); the mean is arithmetic, the deviation that of a sample (0 for a
/// single value).
[[nodiscard]] Statistics statistics_of(std::vector<double> values);

/// The same for rates, which are positive: their mean is the harmonic one, and the deviation the
/// standard error of that, H^2 sqrt(sum (1/x - 1/H)^2) / (n - 1). **Source**: Graph500
/// specification, "Output"; N. Norris, The Standard Errors of the Geometric and Harmonic Means,
/// Annals of Mathematical Statistics 11 (1940).
[[nodiscard]] Statistics statistics_of_rates(std::vector<double> rates);

}  // namespace bfs
