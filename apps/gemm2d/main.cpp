// C = A B on a 2D grid of ranks, block-cyclic.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <string>

#include "common/blas.hpp"
#include "common/product_report.hpp"
#include "gemm2d/product_2d.hpp"

namespace gemm2d {
namespace {

int run(shoal::World& world, const apps::ProductOptions& options, const std::string& grid_text) {
  const auto& common = options.common;
  apps::use_blas_threads(apps::blas_threads(world, options.mode));
  const auto partition = apps::BlockPartition::uniform(common.size, common.tile);
  const auto grid = apps::grid_of(grid_text, world.size());
  const apps::RandomFactors factors(partition, common.seed, world.is_dry());
  apps::RunMeter meter(world, "gemm2d", common.bar, apps::kernel_costs(common));
  Product2d product({world, partition, meter, options.mode, common.am}, grid);

  apps::ProductResult result;
  result.program = "gemm2d";
  result.grid = fmt::format("{}x{}", grid.rows(), grid.columns());
  result.runs.gflop = apps::product_gflop(partition.size());
  for (int run = 0; run < common.repeat; ++run) {
    product.fill(factors);
    meter.start(product.kernel_count());
    product.run();
    result.runs.add(meter.stop());
  }
  if (world.launch() == shoal::Launch::simulated && world.rank() == 0 &&
      options.mode == apps::ProductMode::tiled) {
    result.critical_path = product_path_seconds(world, meter, partition);
  }
  if (common.verify && !world.is_dry()) {
    result.error = product_error(world, factors, partition, product.own(), product.c());
  }
  return apps::report_product(world, options, partition, result);
}

}  // namespace
}  // namespace gemm2d

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    CLI::App app("Matrix product C = A B on a 2D grid of ranks.", "gemm2d");
    apps::ProductOptions options;
    std::string grid;
    apps::add_product_options(app, options);
    apps::add_grid_option(app, grid);
    return apps::run_app(app, world, [&] { return gemm2d::run(world, options, grid); });
  });
}
