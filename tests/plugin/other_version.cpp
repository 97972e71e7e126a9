// A plug-in for MPI of another version of shoal.

#include "net/mpi/mpi_table.h"

extern "C" const shoal_mpi_table* shoal_mpi_plugin_table() {
  static shoal_mpi_table table{};
  table.version = SHOAL_MPI_TABLE_VERSION + 1;
  table.size_bytes = sizeof table;
  table.plugin = "other";
  return &table;
}
