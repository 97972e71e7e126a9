// Tiled QR factorization as a sequential flow of tasks, on any number of ranks.

#include <shoal/shoal.hpp>

#include "common/flow_app.hpp"
#include "qr/factorization.hpp"

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Tiled QR factorization A = Q R as a sequential flow.", "qr");
    apps::FlowAppOptions options;
    apps::add_flow_options(app, options);
    return apps::run_app(app, world, [&] { return qr::run(world, options); });
  });
}
