#pragma once
// Tiled LU factorization without pivoting as a sequential flow of tasks.

#include <shoal/shoal.hpp>

#include "common/flow_app.hpp"

namespace lu {

/// Factors a random matrix and checks the factors; the exit code. Collective.
int run(shoal::World& world, const apps::FlowAppOptions& options);

}  // namespace lu
