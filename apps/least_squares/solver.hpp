#pragma once
// Solves min ||A x - b||_2 for the matrix of a Matrix Market file, or a random one, by a tiled QR
// factorization.

#include <shoal/shoal.hpp>

#include <string>

#include "common/flow_app.hpp"

namespace least_squares {

struct Options {
  apps::FlowAppOptions flow;
  std::string matrix;    // a file; empty: random, of flow.common.size rows
  std::string rhs;       // a file; empty: random
  std::string solution;  // where x goes; empty: nowhere
};

/// Solves the problem and checks the solution; the exit code. Collective.
int run(shoal::World& world, const Options& options);

}  // namespace least_squares
