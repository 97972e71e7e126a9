// Tiled LU factorization without pivoting as a sequential flow of tasks, on any number of ranks.

#include <shoal/shoal.hpp>

#include "common/flow_app.hpp"
#include "lu/factorization.hpp"

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Tiled LU factorization A = L U without pivoting, as a sequential flow.", "lu");
    apps::FlowAppOptions options;
    apps::add_flow_options(app, options);
    return apps::run_app(app, world, [&] { return lu::run(world, options); });
  });
}
