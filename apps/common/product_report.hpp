#pragma once
// Options and results that the two matrix products share.

#include <shoal/shoal.hpp>

#include <optional>
#include <string>
#include <string_view>
#include "cli/command_line.hpp"

#include "common/block_partition.hpp"
#include "common/local_product.hpp"
#include "common/options.hpp"
#include "common/run_meter.hpp"
#include "common/tile_channel.hpp"

namespace apps {

struct ProductOptions {
  CommonOptions common;
  ProductMode mode = ProductMode::tiled;
  std::optional<AmKind> am;  // none: the tiles are inputs of tasks
};

void add_product_options(cli::App& app, ProductOptions& options);
/// Adds --am, for a product that sends its tiles by active messages.
void add_am_option(cli::App& app, ProductOptions& options);

/// Result of a product, as rank 0 reports it.
struct ProductResult {
  std::string_view program;
  std::string grid;  // of ranks
  TimedRuns runs;
  std::optional<double> error;          // see product_error()
  std::optional<double> critical_path;  // seconds, of a simulated run
};

/// Prints and writes the result on rank 0. Returns the exit code: 1 if the product is wrong.
int report_product(const shoal::World& world, const ProductOptions& options,
                   const BlockPartition& partition, const ProductResult& result);

/// The shortest time that a simulated run could take, with any number of ranks and workers and no
/// communication: the products of one tile of C, one after the other.
double product_path_seconds(const shoal::World& world, const RunMeter& meter,
                            const BlockPartition& partition);

/// 10^9 operations of one product.
double product_gflop(int size);

/// How many threads one call of BLAS uses in this mode.
int blas_threads(const shoal::World& world, ProductMode mode);

}  // namespace apps
