// MPI alone: what its library takes for the same messages.

#include <mpi.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "common/resident.hpp"
#include "memory/pairs.hpp"
#include "ranks/mpi_side.hpp"

namespace {

using bench::memory::PairOptions;
using bench::memory::Usage;

std::int64_t resident_of_all() {
  MPI_Barrier(MPI_COMM_WORLD);
  std::int64_t bytes = bench::resident_bytes();
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return bytes;
}

/// One message to each of the peers, and one from each of those that this rank follows.
std::int64_t exchange(const bench::MpiWorld& world, int peers) {
  const auto count = static_cast<std::size_t>(peers);
  const std::int64_t one = 1;
  std::vector<std::int64_t> received(count);
  std::vector<MPI_Request> requests(2 * count);
  for (int peer = 1; peer <= peers; ++peer) {
    const auto slot = static_cast<std::size_t>(peer - 1);
    const int from = (world.rank() - peer + world.size()) % world.size();
    const int to = (world.rank() + peer) % world.size();
    MPI_Irecv(&received[slot], 1, MPI_INT64_T, from, 0, MPI_COMM_WORLD, &requests[slot]);
    MPI_Isend(&one, 1, MPI_INT64_T, to, 0, MPI_COMM_WORLD, &requests[count + slot]);
  }
  MPI_Waitall(2 * peers, requests.data(), MPI_STATUSES_IGNORE);
  return std::accumulate(received.begin(), received.end(), std::int64_t{0});
}

int run(const bench::MpiWorld& world, const PairOptions& options) {
  bench::limit_time(options.run);
  if (options.kernel != "traffic") throw std::invalid_argument("MPI has no idle worlds");
  const int peers = bench::memory::peer_count(options, world.size());
  Usage usage;
  usage.before = resident_of_all();
  std::int64_t received = 0;
  for (int i = 0; i < options.messages; ++i) received += exchange(world, peers);
  usage.after = resident_of_all();
  const bool good = bench::MpiWorld::all_hold(received == std::int64_t{peers} * options.messages);
  if (world.rank() != 0) return good ? 0 : 1;
  return bench::memory::finish_traffic(options, "mpi", world.size(), usage, good);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  PairOptions options;
  const bench::Program program{"memory_mpi_pairs", "Memory of pairs of ranks with MPI alone.",
                               [&](cli::App& app) { bench::memory::add_options(app, options); },
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
