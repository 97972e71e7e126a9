#pragma once
// The kernels of collective operations and teams: configuration and timing of all sides.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ranks/program.hpp"

namespace teams {

struct Options {
  std::string kernel;
  std::size_t size_bytes = 1UL << 20U;  // of the array of a rank
  std::int64_t count = 10'000;
  bench::RunOptions run;

  [[nodiscard]] std::size_t elements() const { return size_bytes / sizeof(double); }
};

void add_options(cli::App& app, Options& options);

/// Operations of one side, on all its ranks.
struct Side {
  std::string name;
  int rank = 0;
  int size = 1;
  std::function<void()> barrier;
  std::function<std::int64_t(std::int64_t)> sum;
  std::function<void(std::span<double>)> sum_array;
  std::function<void(std::span<double>)> broadcast;  // from rank 0; or a multicast, if shoal
  // On large arrays; `all` has as many parts as there are ranks.
  std::function<void(std::span<double>)> reduce;  // in place on rank 0
  std::function<void(std::span<double>)> scan;    // in place
  std::function<void(std::span<const double> part, std::span<double> all)> gather;  // on rank 0
  std::function<void(std::span<const double> part, std::span<double> all)> allgather;
  std::function<void(std::span<const double> all, std::span<double> theirs)> alltoall;
  std::function<void(std::span<const double> all, std::span<double> part)> reduce_scatter;
  std::function<void()> split;  // makes a team of each half, and ends it
  std::function<void()> list;   // the same of all ranks in another order, known to all
};

/// Median of the runs of the kernel that was asked for.
bench::Sample measure(const Options& options, const Side& side);

/// Prints the result; `config` is what the side adds. Returns the exit code.
int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config);

}  // namespace teams
