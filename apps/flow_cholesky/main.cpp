// Tiled Cholesky factorization as a sequential flow of tasks, on any number of ranks.

#include <shoal/shoal.hpp>

#include "common/flow_app.hpp"
#include "flow_cholesky/factorization.hpp"

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Tiled Cholesky factorization A = L L^T as a sequential flow.", "flow_cholesky");
    apps::FlowAppOptions options;
    apps::add_flow_options(app, options);
    return apps::run_app(app, world, [&] { return flow_cholesky::run(world, options); });
  });
}
