#pragma once
// The runs of a matrix product: made, repeated, checked and reported alike for all of them.

#include <shoal/shoal.hpp>

#include <string>
#include <string_view>
#include <utility>

#include "common/blas.hpp"
#include "common/product_report.hpp"
#include "common/random_factors.hpp"

namespace apps {

/// Product and what it is called: "gemm2d", on a grid of ranks "2x3".
struct ProductName {
  std::string_view program;
  std::string grid;
};

/// Runs a `Product`, which is made with `more` behind its context. Returns the exit code.
template <class Product, class... More>
int run_product(shoal::World& world, const ProductOptions& options, ProductName name,
                const More&... more) {
  const CommonOptions& common = options.common;
  use_blas_threads(blas_threads(world, options.mode));
  const auto partition = BlockPartition::uniform(common.size, common.tile);
  const RandomFactors factors(partition, common.seed, world.is_dry());
  RunMeter meter(world, std::string(name.program), common.bar, kernel_costs(common));
  Product product({world, partition, meter, options.mode}, more...);

  ProductResult result;
  result.program = name.program;
  result.grid = std::move(name.grid);
  result.runs.gflop = product_gflop(partition.size());
  for (int run = 0; run < common.repeat; ++run) {
    product.fill(factors);
    meter.start(product.kernel_count());
    product.run();
    result.runs.add(meter.stop());
  }
  if (world.launch() == shoal::Launch::simulated && world.rank() == 0 &&
      options.mode == ProductMode::tiled) {
    result.critical_path = product_path_seconds(world, meter, partition);
  }
  if (common.verify && !world.is_dry()) {
    result.error = product_error(world, factors, partition, product.own(), product.c());
  }
  return report_product(world, options, partition, result);
}

}  // namespace apps
