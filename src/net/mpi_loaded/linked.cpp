// A library that loads its MPI when a world needs one.

#include "net/mpi/mpi_plugin.hpp"

namespace shoal::net {

const MpiTable* linked_mpi() { return nullptr; }

}  // namespace shoal::net
