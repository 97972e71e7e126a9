#pragma once
// Messages of MPI alone. mpi/ has these functions for each MPI, mpi_none/ for builds without.

#include <cstdint>

#include "contention/link.hpp"

namespace contention {

/// Whether MPI is initialized, with two processes.
[[nodiscard]] bool mpi_is_there();

/// Rank of this process in MPI_COMM_WORLD.
[[nodiscard]] int mpi_rank();

/// Calls use() on rank 0 with a link to rank 1. Outside of shoal::run(). Blocks: collective.
void with_mpi_link(const Host& host, std::uint64_t message_bytes_max, const UseLink& use);

}  // namespace contention
