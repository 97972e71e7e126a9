// C = A B on a cube of ranks, by the DNS algorithm.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include "common/blas.hpp"
#include "common/product_report.hpp"
#include "gemm3d/product_3d.hpp"

namespace gemm3d {
namespace {

int run(shoal::World& world, const apps::ProductOptions& options) {
  const auto& common = options.common;
  apps::use_blas_threads(apps::blas_threads(world, options.mode));
  const Cube cube(world.size());
  const auto partition = apps::BlockPartition::uniform(common.size, common.tile);
  const apps::RandomFactors factors(partition, common.seed, world.is_dry());
  apps::RunMeter meter(world, "gemm3d", common.bar, apps::kernel_costs(common));
  Product3d product({world, partition, meter, options.mode, common.am}, cube);

  apps::ProductResult result;
  result.program = "gemm3d";
  result.grid = fmt::format("{0}x{0}x{0}", cube.edge());
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
}  // namespace gemm3d

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    CLI::App app("Matrix product C = A B on a cube of ranks (DNS algorithm).", "gemm3d");
    apps::ProductOptions options;
    apps::add_product_options(app, options);
    return apps::run_app(app, world, [&] { return gemm3d::run(world, options); });
  });
}
