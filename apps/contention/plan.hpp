#pragma once
// The measurements to make.

#include <cstdint>
#include <vector>

#include "contention/measurements.hpp"

namespace contention {

/// Extent of the measurements.
struct Extent {
  bool quick = false;
  std::uint64_t message_bytes_max = 64'000'000;
  int thread_node = 0;  // where the communicating thread is unless that is varied
};

/// Longest message of Channel::small.
inline constexpr std::uint64_t kSmallBytesMax = 4096;

/// All measurements with shoal or, if `with_mpi`, with MPI alone; those of computation alone belong
/// to the former. Each once, in the order in which they are to be made.
[[nodiscard]] std::vector<Point> plan_of(const Machine& machine, const Extent& extent,
                                         bool with_mpi);

}  // namespace contention
