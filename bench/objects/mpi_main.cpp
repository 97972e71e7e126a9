// Jacobi, k-means and NAS CG with MPI alone.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "cli/command_line.hpp"

#include "common/result.hpp"
#include "common/stopwatch.hpp"
#include "jacobi/grid.hpp"
#include "kmeans/clusters.hpp"
#include "objects/mpi_apps.hpp"
#include "ranks/mpi_side.hpp"

namespace {

struct Options {
  std::string kernel;
  std::size_t n = 256;
  std::uint64_t points = 20'000;
  std::size_t clusters = 16;
  int iterations = 100;
  std::string problem_class = "S";
  bench::RunOptions run;
};

bench::Sample jacobi_iterations(int rank, int size, const Options& options) {
  const auto n = options.n;
  const auto part = [&](int of) {
    return n * static_cast<std::size_t>(of) / static_cast<std::size_t>(size);
  };
  const std::size_t first = part(rank);
  const std::size_t count = part(rank + 1) - first;
  jacobi::Grid grid(n, first, count);
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  const int width = static_cast<int>(n);
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  double norm = 0;
  for (int i = 0; i < options.iterations; ++i) {
    MPI_Sendrecv(grid.at(count), width, MPI_DOUBLE, down, 0, grid.at(0), width, MPI_DOUBLE, up, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(grid.at(1), width, MPI_DOUBLE, up, 1, grid.at(count + 1), width, MPI_DOUBLE, down,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    norm = std::sqrt(bench::MpiWorld::sum(grid.iterate()));
  }
  bench::Sample sample{watch.seconds(), std::isfinite(norm)};
  jacobi::Grid whole(n, 0, n);
  for (int i = 0; i < options.iterations; ++i) whole.iterate();
  for (std::size_t row = 1; row <= count; ++row) {
    sample.verified &= std::equal(grid.at(row), grid.at(row) + n, whole.at(first + row));
  }
  return sample;
}

bench::Sample kmeans_iterations(int rank, int size, const Options& options) {
  using kmeans::Values;
  std::vector<Values> own;
  for (auto i = static_cast<std::uint64_t>(rank); i < options.points;
       i += static_cast<std::uint64_t>(size)) {
    own.push_back(kmeans::point(i, options.clusters, 1));
  }
  Values centres = kmeans::first_centres(options.points, options.clusters, 1);
  const auto sum = [](Values& values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                  MPI_SUM, MPI_COMM_WORLD);
  };
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  for (int i = 0; i < options.iterations; ++i) {
    kmeans::Sums sums(options.clusters);
    for (const Values& one : own) sums.add(centres, one);
    sum(sums.sums);
    sum(sums.counts);
    centres = sums.centres(centres);
  }
  const double seconds = watch.seconds();
  return {seconds, centres == kmeans::centres_alone(options.points, options.clusters, 1,
                                                    options.iterations)};
}

int run(const bench::MpiWorld& world, const Options& options) {
  bench::limit_time(options.run);
  const auto once = [&] {
    if (options.kernel == "jacobi") return jacobi_iterations(world.rank(), world.size(), options);
    if (options.kernel == "kmeans") return kmeans_iterations(world.rank(), world.size(), options);
    return objects::conjugate_gradients(world.rank(), world.size(), options.problem_class);
  };
  std::vector<bench::Sample> samples;
  for (int i = 0; i < options.run.repeat; ++i) samples.push_back(once());
  const bench::Sample sample = bench::median(samples);
  const bool verified = bench::MpiWorld::all_hold(sample.verified);
  if (world.rank() != 0) return verified ? 0 : 1;
  return bench::finish(
      {options.kernel,
       "mpi",
       {{"seconds", sample.seconds}},
       {{"launch", "mpi"}, {"ranks", world.size()}, {"library", bench::MpiWorld::library()}}},
      verified);
}

void add_options(cli::App& app, Options& options) {
  bench::add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Application")
      ->required()
      ->check(cli::one_of({"jacobi", "kmeans", "cg"}));
  app.add_option("--n", options.n, "Jacobi: points on a side");
  app.add_option("--points", options.points, "k-means: number of points");
  app.add_option("--clusters", options.clusters, "k-means: number of clusters");
  app.add_option("--iterations", options.iterations, "Jacobi and k-means: iterations");
  app.add_option("--class", options.problem_class, "CG: class of the benchmark");
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  Options options;
  const bench::Program program{"objects_mpi", "Jacobi, k-means and NAS CG with MPI alone.",
                               [&](cli::App& app) { add_options(app, options); },
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
