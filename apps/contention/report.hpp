#pragma once
// Results as text.

#include <shoal/contention/advice.hpp>
#include <shoal/contention/model.hpp>

#include <string>
#include <vector>

#include "contention/selection.hpp"

namespace contention {

/// Table of the parameters of a model.
[[nodiscard]] std::string parameters_text(const Model& model);

/// Table of the errors at each placement, and their means.
[[nodiscard]] std::string errors_text(const std::vector<PlacementError>& errors);

/// Predictions of each placement and number of cores as CSV; `fixed` restricts the placements.
/// **Errors**: ConfigError for a node that the machine does not have.
[[nodiscard]] std::string curves_csv(const Model& model, const shoal::contention::Fixed& fixed);

/// Table by placement: the number of cores that leaves the network `share` of its bandwidth, and
/// the bandwidths with all cores.
[[nodiscard]] std::string limits_text(const Model& model, double share);

/// The best choice for a phase, beside all cores with all data on the first node.
[[nodiscard]] std::string phase_text(const Model& model, const shoal::contention::Phase& phase,
                                     const shoal::contention::Fixed& fixed);

/// The choice for programs.
[[nodiscard]] std::string choice_json(const shoal::contention::Choice& choice);

}  // namespace contention
