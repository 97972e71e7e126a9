// Collective operations and teams of shoal: embedded with --ranks, or in the processes of an MPI
// launch.

#include <shoal/shoal.hpp>

#include <functional>
#include <span>

#include "common/result.hpp"
#include "teams/kernels.hpp"

namespace {

int run(shoal::World& world, const teams::Options& options) {
  bench::limit_time(options.run);
  const int rank = world.rank();
  const int size = world.size();
  const teams::Side side{
      .name = "shoal",
      .rank = rank,
      .size = size,
      .barrier = [&] { world.barrier(); },
      .sum = [&](std::int64_t value) { return world.allreduce(value, std::plus<>()); },
      .sum_array = [&](std::span<double> values) { world.allreduce(values, std::plus<>()); },
      .broadcast = [&](std::span<double> values) { world.broadcast(values, shoal::Rank(0)); },
      .reduce =
          [&](std::span<double> values) { world.reduce(values, std::plus<>(), shoal::Rank(0)); },
      .scan = [&](std::span<double> values) { world.scan(values, std::plus<>()); },
      .gather = [&](std::span<const double> part,
                    std::span<double> all) { world.gather(part, all, shoal::Rank(0)); },
      .allgather = [&](std::span<const double> part,
                       std::span<double> all) { world.allgather(part, all); },
      .alltoall = [&](std::span<const double> all,
                      std::span<double> theirs) { world.alltoall(all, theirs); },
      .reduce_scatter =
          [&](std::span<const double> all, std::span<double> part) {
            world.reduce_scatter(all, part, std::plus<>());
          },
      .split = [&] { const shoal::Team half = world.split(rank % 2, rank); },
      .list =
          [&] {
            const auto turn = [&](int i) { return (i + 1) % size; };
            const auto back = [&](int i) { return (i + size - 1) % size; };
            const shoal::Team turned(world, size, turn, back);
          },
  };
  bench::Sample sample = teams::measure(options, side);
  sample.verified = world.allreduce(sample.verified, std::logical_and<>());
  if (rank != 0) return 0;
  const char* const launch = world.launch() == shoal::Launch::mpi ? "mpi" : "embedded";
  return teams::finish(options, side.name, sample,
                       {{"launch", launch}, {"ranks", size}, {"workers", world.worker_count()}});
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    teams::Options options;
    const bench::Program program{"teams_shoal",
                                 "Collective operations and teams with shoal; --help lists the "
                                 "options of shoal.",
                                 [&](cli::App& app) { teams::add_options(app, options); },
                                 [&] { return run(world, options); }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                              world.rank() == 0);
  });
}
