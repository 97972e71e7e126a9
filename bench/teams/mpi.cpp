// The side of MPI alone.

#include "common/result.hpp"
#include "ranks/mpi_side.hpp"
#include "teams/kernels.hpp"

namespace {

int count_of(std::span<const double> values) { return static_cast<int>(values.size()); }

int run(const bench::MpiWorld& world, const teams::Options& options) {
  bench::limit_time(options.run);
  const int rank = world.rank();
  const int size = world.size();
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  std::vector<int> turned;
  for (int i = 0; i < size; ++i) turned.push_back((i + 1) % size);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group_incl(all, size, turned.data(), &group);
  const teams::Side side{
      .name = "mpi",
      .rank = rank,
      .size = size,
      .barrier = [] { MPI_Barrier(MPI_COMM_WORLD); },
      .sum =
          [](std::int64_t value) {
            MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
            return value;
          },
      .sum_array =
          [](std::span<double> values) {
            MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                          MPI_SUM, MPI_COMM_WORLD);
          },
      .broadcast =
          [](std::span<double> values) {
            MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, 0,
                      MPI_COMM_WORLD);
          },
      .reduce =
          [rank](std::span<double> values) {
            void* const from = rank == 0 ? MPI_IN_PLACE : values.data();
            MPI_Reduce(from, values.data(), count_of(values), MPI_DOUBLE, MPI_SUM, 0,
                       MPI_COMM_WORLD);
          },
      .scan =
          [](std::span<double> values) {
            MPI_Scan(MPI_IN_PLACE, values.data(), count_of(values), MPI_DOUBLE, MPI_SUM,
                     MPI_COMM_WORLD);
          },
      .gather =
          [](std::span<const double> part, std::span<double> all) {
            MPI_Gather(part.data(), count_of(part), MPI_DOUBLE, all.data(), count_of(part),
                       MPI_DOUBLE, 0, MPI_COMM_WORLD);
          },
      .allgather =
          [](std::span<const double> part, std::span<double> all) {
            MPI_Allgather(part.data(), count_of(part), MPI_DOUBLE, all.data(), count_of(part),
                          MPI_DOUBLE, MPI_COMM_WORLD);
          },
      .alltoall =
          [size](std::span<const double> all, std::span<double> theirs) {
            MPI_Alltoall(all.data(), count_of(all) / size, MPI_DOUBLE, theirs.data(),
                         count_of(all) / size, MPI_DOUBLE, MPI_COMM_WORLD);
          },
      .reduce_scatter =
          [](std::span<const double> all, std::span<double> part) {
            MPI_Reduce_scatter_block(all.data(), part.data(), count_of(part), MPI_DOUBLE, MPI_SUM,
                                     MPI_COMM_WORLD);
          },
      .split =
          [rank] {
            MPI_Comm half = MPI_COMM_NULL;
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
            MPI_Comm_free(&half);
          },
      .list =
          [group] {
            MPI_Comm comm = MPI_COMM_NULL;
            MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
            MPI_Comm_free(&comm);
          },
  };
  bench::Sample sample = teams::measure(options, side);
  sample.verified = bench::MpiWorld::all_hold(sample.verified);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  if (rank != 0) return 0;
  return teams::finish(
      options, side.name, sample,
      {{"launch", "mpi"}, {"ranks", size}, {"library", bench::MpiWorld::library()}});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  teams::Options options;
  const bench::Program program{"teams_mpi",
                               "Collective operations and communicators with MPI alone.",
                               [&](cli::App& app) { teams::add_options(app, options); },
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
