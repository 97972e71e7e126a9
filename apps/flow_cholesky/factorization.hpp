#pragma once
// Tiled Cholesky factorization as a sequential flow of tasks.

#include <shoal/shoal.hpp>

#include "common/flow_app.hpp"

namespace flow_cholesky {

/// Factors a random matrix and checks the factor; the exit code. Collective.
int run(shoal::World& world, const apps::FlowAppOptions& options);

}  // namespace flow_cholesky
