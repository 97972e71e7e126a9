#pragma once
// Costs that decide between trees of multicasts.

#include <shoal/detail/team/tree_costs.hpp>
#include <shoal/shoal.hpp>

#include <cstdint>
#include <string>

namespace calibrate {

/// Measures multicasts from rank 0 to all others, which needs two recipients, so many times. On
/// rank 0; else, and with fewer ranks, nothing is known. Blocks: collective.
shoal::team::TreeCosts measure_trees(shoal::World& world, int repetitions);

/// Cost of each further recipient: (all - one) / (count - 1) of times in nanoseconds, and at least
/// 1, for disturbed measurements.
std::uint64_t cost_of_one_more(double one_ns, double all_ns, int count);

/// The line for --config: --multicast-costs, or why there is none.
std::string trees_to_config(const shoal::team::TreeCosts& costs);

}  // namespace calibrate
