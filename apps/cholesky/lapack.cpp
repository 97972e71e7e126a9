#include "cholesky/lapack.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "common/blas.hpp"

namespace cholesky {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

int workers_on_this_machine(shoal::World& world) {
  const std::string own_host = host_name();
  const auto hosts = world.allgather(own_host);
  const auto workers = world.allgather(world.worker_count());
  int count = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] == own_host) count += workers[rank];
  }
  return count;
}

double timed_potrf(shoal::World& world, const SpdMatrix& matrix) {
  apps::Tile whole = matrix.lower_block(0, 0, matrix.size(), matrix.size());
  const auto begin_ns = world.now_ns();
  // A matrix that is not positive definite was refused before.
  static_cast<void>(apps::potrf(whole));
  return static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
}

}  // namespace

LapackRun run_lapack(shoal::World& world, const SpdMatrix& matrix, int repeat) {
  LapackRun result;
  const int workers = workers_on_this_machine(world);
  world.barrier();
  if (world.rank() == 0) {
    result.threads = std::min(workers, apps::blas_processor_count());
    apps::set_blas_threads(result.threads);
    for (int run = 0; run < repeat; ++run) result.seconds.push_back(timed_potrf(world, matrix));
    apps::set_blas_threads(1);
  }
  world.barrier();
  return result;
}

}  // namespace cholesky
