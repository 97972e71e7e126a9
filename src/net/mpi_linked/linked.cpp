// A library that has one MPI linked in (SHOAL_MPI_STATIC).

#include "net/mpi/mpi_plugin.hpp"

extern "C" const shoal_mpi_table* shoal_mpi_plugin_table();

namespace shoal::net {

const MpiTable* linked_mpi() { return shoal_mpi_plugin_table(); }

}  // namespace shoal::net
