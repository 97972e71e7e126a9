#include "common/product_report.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>

#include "common/output_file.hpp"
#include "common/report.hpp"

namespace apps {
namespace {

constexpr double kErrorMax = 1e-14;

bool is_correct(const ProductResult& result) { return !result.error || *result.error <= kErrorMax; }

std::string_view mode_name(ProductMode mode) {
  return mode == ProductMode::tiled ? "tiled" : "blas";
}

std::string_view am_name(AmKind am) { return am == AmKind::small ? "small" : "large"; }

void print(const shoal::World& world, const ProductOptions& options,
           const BlockPartition& partition, const ProductResult& result) {
  print_title(result.program, world,
              fmt::format("n={}, {}x{} tiles of up to {}, grid {}, {}{}", partition.size(),
                          partition.count(), partition.count(), partition.largest_extent(),
                          result.grid, mode_name(options.mode),
                          options.am ? fmt::format(", {} messages", am_name(*options.am)) : ""));
  print_rate("shoal", result.runs.seconds, result.runs.gflop);
  if (result.error) {
    print_line("error", fmt::format("{:.2e}  = ||C - AB||_F / (||A||_F ||B||_F), {}", *result.error,
                                    is_correct(result) ? "good" : "BAD"));
  }
  if (result.critical_path) {
    print_line("critical path", fmt::format("{:.4g} s", *result.critical_path));
  }
  print_costs(result.runs.costs, world.worker_count());
}

}  // namespace

void add_product_options(cli::App& app, ProductOptions& options) {
  add_common_options(app, options.common);
  add_choice(app, "--mode", {"tiled", "blas"},
             "Tasks of one thread per tile, or one call of BLAS on many threads per rank",
             [&options](std::size_t word) {
               options.mode = word == 0 ? ProductMode::tiled : ProductMode::blas;
             });
}

void add_am_option(cli::App& app, ProductOptions& options) {
  options.am = AmKind::large;
  add_choice(
      app, "--am", {"large", "small"}, "How tiles are sent: kind of active messages",
      [&options](std::size_t word) { options.am = word == 0 ? AmKind::large : AmKind::small; });
}

int report_product(const shoal::World& world, const ProductOptions& options,
                   const BlockPartition& partition, const ProductResult& result) {
  const bool correct = is_correct(result);
  if (world.rank() != 0) return correct ? 0 : 1;
  if (!is_standard_output(options.common.json)) print(world, options, partition, result);
  auto json = json_of_run(result.program, world, result.runs);
  if (options.am) json["am"] = am_name(*options.am);
  json["n"] = partition.size();
  json["tile"] = options.common.tile;
  json["grid"] = result.grid;
  json["mode"] = mode_name(options.mode);
  if (result.critical_path) json["critical_path_seconds"] = *result.critical_path;
  if (result.error) json["error"] = *result.error;
  return write_json(options.common.json, json) && correct ? 0 : 1;
}

double product_path_seconds(const shoal::World& world, const RunMeter& meter,
                            const BlockPartition& partition) {
  const shoal::Cost cost = meter.costs().cost(Kernel::gemm, partition.largest_extent());
  return partition.count() * simulated_seconds(world, cost);
}

double product_gflop(int size) {
  const double n = size;
  return 2 * n * n * n * 1e-9;
}

int blas_threads(const shoal::World& world, ProductMode mode) {
  return mode == ProductMode::tiled ? 1 : world.worker_count();
}

}  // namespace apps
