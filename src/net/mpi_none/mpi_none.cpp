// A build without MPI: the functions of the MPI transport, which say so.

#include <shoal/base/error.hpp>
#include <shoal/net/mpi_transport.hpp>

namespace shoal::net {

bool mpi_available() { return false; }

std::string mpi_library() { return "none"; }

std::shared_ptr<const void> communicator_of_fortran(int /*handle*/) {
  throw ConfigError(
      "a communicator was given, but this program was built without MPI: link it with a variant of "
      "shoal that was built with MPI");
}

std::unique_ptr<MpiTransport> make_mpi_transport(const MpiOptions&) {
  throw ConfigError(
      "this program was built without MPI: run it in one process with --ranks N, or link it with "
      "a variant of shoal that was built with MPI");
}

}  // namespace shoal::net
