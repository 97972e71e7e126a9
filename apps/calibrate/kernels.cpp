#include "calibrate/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "common/blas.hpp"
#include "common/kernel_costs.hpp"
#include "common/run_meter.hpp"
#include "common/tile.hpp"

namespace calibrate {
namespace {

using apps::Kernel;
using apps::Tile;

constexpr std::uint64_t kTime_ns = 60'000'000;  // of one measurement, at least
constexpr std::size_t kSetBytes = std::size_t{24} << 20;

/// Diagonally dominant, so that it has a factor; harmless for the other kernels.
Tile make_tile(int n) {
  Tile tile(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) tile(i, j) = i == j ? 2.0 * n : 1.0 / (1 + i + j);
  }
  return tile;
}

std::vector<Tile> make_set(int n) {
  const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * 8;
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < std::max<std::size_t>(4, kSetBytes / bytes); ++i) {
    tiles.push_back(make_tile(n));
  }
  return tiles;
}

void run(Kernel kernel, const Tile& a, const Tile& b, Tile& c) {
  switch (kernel) {
    case Kernel::potrf:
      static_cast<void>(apps::potrf(c));
      return;
    case Kernel::trsm:
      return apps::trsm(a, c);
    case Kernel::syrk:
      return apps::syrk(a, c);
    case Kernel::gemm:
      return apps::subtract_product_transposed(a, b, c);
    case Kernel::add:
      return apps::add(a, c);
  }
}

/// Seconds of one call, the mean of many, since applications suffer the same disturbances. Each
/// operand is touched again only after all others of the set.
double time_kernel(shoal::World& world, Kernel kernel, int n) {
  std::vector<Tile> results = make_set(n);
  const std::vector<Tile> operands = make_set(n);
  const Tile fresh = make_tile(n);
  std::uint64_t time_ns = 0;
  std::size_t calls = 0;
  while (time_ns < kTime_ns) {
    for (Tile& result : results) std::ranges::copy(fresh.values(), result.data());
    const std::uint64_t begin_ns = world.now_ns();
    for (std::size_t i = 0; i < results.size(); ++i) {
      run(kernel, operands[i], operands[results.size() - 1 - i], results[i]);
    }
    time_ns += world.now_ns() - begin_ns;
    calls += results.size();
  }
  return static_cast<double>(time_ns) * 1e-9 / static_cast<double>(calls);
}

/// The same on all workers at once; the median of theirs.
double time_on_all_workers(shoal::World& world, Kernel kernel, int n) {
  std::vector<double> seconds(static_cast<std::size_t>(world.worker_count()));
  std::atomic<int> missing = world.worker_count();
  for (int worker = 0; worker < world.worker_count(); ++worker) {
    world.spawn(
        [&, worker] {
          // All tasks begin together. There is one for each worker.
          missing.fetch_sub(1, std::memory_order_relaxed);
          while (missing.load(std::memory_order_relaxed) > 0) {
          }
          seconds[static_cast<std::size_t>(worker)] = time_kernel(world, kernel, n);
        },
        {.worker = shoal::WorkerId(worker), .bound = true, .name = "kernel"});
  }
  world.wait();
  return apps::median(std::move(seconds));
}

}  // namespace

nlohmann::json measure_kernels(shoal::World& world, std::span<const int> sizes) {
  apps::use_blas_threads(1);
  nlohmann::json kernels;
  for (std::size_t i = 0; i < apps::kKernelNames.size(); ++i) {
    const auto kernel = static_cast<Kernel>(i);
    for (const int n : sizes) {
      if (world.rank() != 0) {
        world.wait();
        continue;
      }
      const double seconds = time_on_all_workers(world, kernel, n);
      const double gflops = apps::flops_of(kernel, n) / seconds * 1e-9;
      kernels[std::string(apps::kKernelNames[i])].push_back({{"size", n}, {"gflops", gflops}});
      cli::tell(fmt::format("  {:<6} {:>4}  {:>9.3f} us  {:>7.2f} GFLOP/s\n", apps::kKernelNames[i],
                            n, seconds * 1e6, gflops));
    }
  }
  return {{"workers", world.worker_count()}, {"kernels", kernels}};
}

}  // namespace calibrate
