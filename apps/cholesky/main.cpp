// Tiled Cholesky factorization of a random or a given matrix, on any number of ranks.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cholesky/factorization.hpp"
#include "cholesky/lapack.hpp"
#include "cholesky/options.hpp"
#include "cholesky/residual.hpp"
#include "cholesky/spd_matrix.hpp"
#include "common/blas.hpp"
#include "common/checksum.hpp"
#include "common/input_error.hpp"
#include "common/matrix_market.hpp"
#include "common/output_file.hpp"
#include "common/report.hpp"
#include "common/run_meter.hpp"
#include "common/triangle_layout.hpp"

namespace cholesky {
namespace {

constexpr double kResidualMax = 1e-12;

/// Values that rank 0 reports; the others fill in what they know and use none of it.
struct Result {
  apps::TimedRuns runs;
  std::optional<double> residual;
  std::optional<std::uint64_t> checksum;
  std::optional<LapackRun> lapack;
  std::optional<double> critical_path;  // seconds, of a simulated run
};

/// Rank 0 reads the file, so that it must exist there only, and gives it to all.
std::unique_ptr<SpdMatrix> load(shoal::World& world, const std::string& path) {
  apps::SymmetricMatrix matrix;
  std::string error;
  if (world.rank() == 0) {
    try {
      matrix = apps::read_matrix_market_file(path);
    } catch (const apps::InputError& bad) {
      error = bad.what();
    }
  }
  error = world.broadcast(error, shoal::Rank(0));
  if (!error.empty()) throw apps::InputError(error);
  const int size = world.broadcast(matrix.size, shoal::Rank(0));
  return make_sparse(size, world.broadcast(matrix.lower, shoal::Rank(0)));
}

apps::TriangleLayout make_layout(shoal::World& world, const Options& options, int size) {
  const auto& common = options.common;
  auto partition = options.rho == 1
                       ? apps::BlockPartition::uniform(size, common.tile)
                       : apps::BlockPartition::random(size, common.tile, options.rho, common.seed);
  return {std::move(partition), apps::grid_of(options.grid, world.size()), world.rank()};
}

/// In a dry run tiles have a size and no values.
void fill(const shoal::World& world, const SpdMatrix& matrix, const apps::TriangleLayout& layout,
          apps::TileTable& tiles) {
  const auto& partition = layout.partition();
  layout.for_each_local_tile([&](int i, int j) {
    tiles.drop(i, j);
    tiles.put(i, j,
              world.is_dry() ? apps::Tile(partition.extent(i), partition.extent(j))
                             : matrix.lower_block(partition.offset(i), partition.offset(j),
                                                  partition.extent(i), partition.extent(j)));
  });
}

/// The shortest time that a simulated run could take, with any number of ranks and workers and no
/// communication.
double critical_path_seconds(shoal::World& world, const apps::KernelCosts& costs,
                             const apps::BlockPartition& tiles) {
  const auto seconds = [&](apps::Kernel kernel) {
    return apps::simulated_seconds(world, costs.cost(kernel, tiles.largest_extent()));
  };
  const apps::CriticalPath paths(tiles.count(),
                                 {seconds(apps::Kernel::potrf), seconds(apps::Kernel::trsm),
                                  seconds(apps::Kernel::syrk), seconds(apps::Kernel::gemm)});
  return paths.potrf(0);
}

std::uint64_t checksum(shoal::World& world, const apps::TriangleLayout& layout,
                       const apps::TileTable& tiles) {
  std::uint64_t sum = 0;
  layout.for_each_local_tile([&](int i, int j) { sum += apps::checksum(tiles.at(i, j), i, j); });
  return world.allreduce(sum, std::plus<>());
}

double gflop(int size) {
  const double n = size;
  return (n * n * n / 3 + n * n / 2 + n / 6) * 1e-9;
}

Result compute(shoal::World& world, const Options& options, const SpdMatrix& matrix,
               const apps::TriangleLayout& layout) {
  const auto& common = options.common;
  apps::TileTable tiles(layout.n(), layout.n());
  apps::RunMeter meter(world, "cholesky", common.bar, apps::kernel_costs(common));
  Factorization factorization(world, layout, tiles, meter);
  if (options.ignore_priorities) factorization.ignore_priorities();
  ResidualCheck check(world, layout, matrix, tiles);

  Result result;
  result.runs.gflop = gflop(matrix.size());
  for (int run = 0; run < common.repeat; ++run) {
    fill(world, matrix, layout, tiles);
    meter.start(factorization.task_count());
    factorization.run();
    result.runs.add(meter.stop());
  }
  if (world.launch() == shoal::Launch::simulated && world.rank() == 0) {
    result.critical_path = critical_path_seconds(world, meter.costs(), layout.partition());
  }
  if (world.is_dry()) return result;
  if (common.verify) result.residual = check.run();
  if (options.checksum) result.checksum = checksum(world, layout, tiles);
  if (options.compare_lapack) result.lapack = run_lapack(world, matrix, common.repeat);
  return result;
}

void print(const shoal::World& world, const apps::TriangleLayout& layout, const Result& result) {
  const auto& partition = layout.partition();
  apps::print_title("cholesky", world,
                    fmt::format("n={}, {}x{} tiles of up to {}, grid {}x{}", partition.size(),
                                layout.n(), layout.n(), partition.largest_extent(),
                                layout.grid().rows(), layout.grid().columns()));
  apps::print_rate("shoal", result.runs.seconds, result.runs.gflop);
  if (result.lapack) {
    apps::print_rate(fmt::format("LAPACK, {} threads", result.lapack->threads),
                     result.lapack->seconds, result.runs.gflop);
  }
  if (result.residual) {
    apps::print_line("residual",
                     fmt::format("{:.2e}  = ||A - LL^T||_F / ||A||_F, {}", *result.residual,
                                 *result.residual <= kResidualMax ? "good" : "BAD"));
  }
  if (result.critical_path) {
    apps::print_line("critical path", fmt::format("{:.4g} s", *result.critical_path));
  }
  if (result.checksum) apps::print_line("checksum", fmt::format("{:016x}", *result.checksum));
  apps::print_costs(result.runs.costs, world.worker_count());
}

nlohmann::json to_json(const shoal::World& world, const Options& options,
                       const apps::TriangleLayout& layout, const Result& result) {
  const auto& partition = layout.partition();
  auto json = apps::json_of_run("cholesky", world, result.runs);
  json["n"] = partition.size();
  json["tile"] = options.common.tile;
  json["tiles"] = layout.n();
  json["matrix"] = options.matrix;
  json["rho"] = options.rho;
  json["grid"] = {layout.grid().rows(), layout.grid().columns()};
  if (result.residual) json["residual"] = *result.residual;
  if (result.checksum) json["checksum"] = fmt::format("{:016x}", *result.checksum);
  if (result.critical_path) json["critical_path_seconds"] = *result.critical_path;
  if (result.lapack) {
    json["lapack"] = {{"threads", result.lapack->threads}, {"seconds", result.lapack->seconds}};
  }
  return json;
}

int run(shoal::World& world, const Options& options) {
  apps::use_blas_threads(1);
  const auto matrix = options.matrix.empty() ? make_random(options.common.size, options.common.seed)
                                             : load(world, options.matrix);
  const apps::TriangleLayout layout = make_layout(world, options, matrix->size());
  const Result result = compute(world, options, *matrix, layout);
  bool good = !result.residual || *result.residual <= kResidualMax;
  if (world.rank() == 0) {
    if (!apps::is_standard_output(options.common.json)) print(world, layout, result);
    good = apps::write_json(options.common.json, to_json(world, options, layout, result)) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace cholesky

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Tiled Cholesky factorization A = L L^T.", "cholesky");
    cholesky::Options options;
    cholesky::add_options(app, options);
    return apps::run_app(app, world, [&] { return cholesky::run(world, options); });
  });
}
