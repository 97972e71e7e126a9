#pragma once
// Measurements of a machine that behaves as a model says.

#include <shoal/contention/model.hpp>

#include <cstdint>

#include "contention/measurements.hpp"

namespace contention {

/// Disturbance of synthetic measurements.
struct Noise {
  double share = 0;  // largest relative error, 0 to below 1, uniform
  std::uint64_t seed = 1;
  int repetitions = 3;
};

/// Measurements of `fill` beside received large messages of 64 MB, at all placements.
/// **Errors**: ConfigError for a model without a meaning.
[[nodiscard]] Measurements synthesize(const shoal::contention::Model& model, const Noise& noise);

}  // namespace contention
