// Solves min ||A x - b||_2 for the matrix of a Matrix Market file, or a random one, by a tiled QR
// factorization.

#include <shoal/shoal.hpp>

#include "common/flow_app.hpp"
#include "least_squares/solver.hpp"

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Solves min ||A x - b||_2 by a tiled QR factorization in a sequential flow.",
                 "least_squares");
    least_squares::Options options;
    apps::add_flow_options(app, options.flow);
    app.add_option("FILE", options.matrix,
                   "The matrix A, in Matrix Market format; without it, a random one of --n rows "
                   "and half as many columns")
        ->excludes("--n");
    app.add_option("--rhs", options.rhs, "The vector b, a Matrix Market file of one column")
        ->option_text("FILE [random]");
    app.add_option("--out", options.solution, "Write x to this file, in Matrix Market format")
        ->option_text("FILE");
    return apps::run_app(app, world, [&] { return least_squares::run(world, options); });
  });
}
