#include "contention/mpi_link.hpp"

namespace contention {

bool mpi_is_there() { return false; }
int mpi_rank() { return 0; }
void with_mpi_link(const Host& /*host*/, std::uint64_t /*message_bytes_max*/,
                   const UseLink& /*use*/) {}

}  // namespace contention
