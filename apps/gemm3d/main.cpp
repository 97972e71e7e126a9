// C = A B on a cube of ranks, by the DNS algorithm.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include "common/product_run.hpp"
#include "gemm3d/product_3d.hpp"

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Matrix product C = A B on a cube of ranks (DNS algorithm).", "gemm3d");
    apps::ProductOptions options;
    apps::add_product_options(app, options);
    apps::add_am_option(app, options);
    return apps::run_app(app, world, [&] {
      const gemm3d::Cube cube(world.size());
      return apps::run_product<gemm3d::Product3d>(
          world, options, {"gemm3d", fmt::format("{0}x{0}x{0}", cube.edge())}, cube, *options.am);
    });
  });
}
