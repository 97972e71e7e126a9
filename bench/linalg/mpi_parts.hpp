#pragma once
// Shared by the sides over MPI. Headers only, as bench/ranks/mpi_side.hpp.

#include <string>
#include <utility>
#include <vector>

#include "linalg/problem.hpp"
#include "ranks/mpi_side.hpp"

namespace linalg {

inline void sum_over_ranks(std::vector<double>& values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
}

/// The longest time of any rank.
inline double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/// Rank 0 prints the result. Returns the exit code.
inline int finish_all(const Options& options, const std::string& side, const bench::MpiWorld& world,
                      const std::vector<bench::Sample>& samples, bench::Values config) {
  const bench::Sample sample = bench::median(samples);
  if (world.rank() != 0) return sample.verified ? 0 : 1;
  config.emplace_back("ranks", world.size());
  config.emplace_back("mpi", bench::MpiWorld::library());
  return finish(options, side, sample, std::move(config));
}

}  // namespace linalg
