#pragma once
// Every call of MPI goes through mpi_check().

#include <mpi.h>

#include <string>

namespace shoal::net {

/// Details of a call for the error message when it fails.
struct MpiCall {
  static constexpr int kNone = -1000;  // neither a rank nor a tag of MPI

  const char* name = "";
  int process = kNone;  // the caller's rank in the communicator
  int peer = kNone;
  int tag = kNone;
};

/// MPI's text for an error code.
std::string mpi_error_text(int result);

[[noreturn]] void throw_mpi_error(int result, const MpiCall& call);

/// Throws TransportError naming the call, both processes and the tag unless `result` is
/// MPI_SUCCESS.
inline void mpi_check(int result, const MpiCall& call) {
  if (result != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(result, call);
}

}  // namespace shoal::net
