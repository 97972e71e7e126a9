// C = A B on a 2D grid of ranks, block-cyclic.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <string>

#include "common/product_run.hpp"
#include "gemm2d/product_2d.hpp"

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Matrix product C = A B on a 2D grid of ranks.", "gemm2d");
    apps::ProductOptions options;
    std::string grid_text;
    apps::add_product_options(app, options);
    apps::add_grid_option(app, grid_text);
    return apps::run_app(app, world, [&] {
      const apps::ProcessGrid grid = apps::grid_of(grid_text, world.size());
      return apps::run_product<gemm2d::Product2d>(
          world, options, {"gemm2d", fmt::format("{}x{}", grid.rows(), grid.columns())}, grid);
    });
  });
}
