// A plug-in for MPI whose function that FAILING_MPI names fails: allreduce_min, on MPI_COMM_WORLD,
// or win_attach.

#include <cstdlib>
#include <string_view>

#define shoal_mpi_plugin_table shoal_mpi_working_table
#include "net/mpi_plugin/mpi_plugin.cpp"
#undef shoal_mpi_plugin_table

extern "C" __attribute__((visibility("default"))) const shoal_mpi_table* shoal_mpi_plugin_table() {
  static shoal_mpi_table table = *shoal_mpi_working_table();
  const char* const name = std::getenv("FAILING_MPI");
  const std::string_view failing = name != nullptr ? name : "";
  if (failing == "allreduce_min") {
    table.allreduce_min = [](const int* value, int* least, shoal_mpi_comm comm) {
      const bool fails = comm.bits == table.comm_world.bits;
      return fails ? MPI_ERR_OTHER : shoal_mpi_working_table()->allreduce_min(value, least, comm);
    };
  } else if (failing == "win_attach") {
    table.win_attach = [](shoal_mpi_win, void*, size_t) { return MPI_ERR_OTHER; };
  }
  return &table;
}
