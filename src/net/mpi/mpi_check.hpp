#pragma once
// Every call of MPI goes through the table of a plug-in and, where it can fail, mpi_check().

#include <string>

#include "net/mpi/mpi_table.h"

namespace shoal::net {

using MpiTable = shoal_mpi_table;
using MpiComm = shoal_mpi_comm;
using MpiRequest = shoal_mpi_request;
using MpiStatus = shoal_mpi_status;
using MpiWin = shoal_mpi_win;

/// Equality of handles of one kind.
template <class Handle>
[[nodiscard]] bool is_same(Handle a, Handle b) {
  return a.bits == b.bits;
}

/// Details of a call for the error message when it fails.
struct MpiCall {
  static constexpr int kNone = -1000;     // neither a rank nor a tag of MPI
  static constexpr int kAnyPeer = -1001;  // likewise

  const char* name = "";
  int process = kNone;  // the caller's rank in the communicator
  int peer = kNone;
  int tag = kNone;
};

/// MPI's text for an error code.
std::string mpi_error_text(const MpiTable& mpi, int result);

[[noreturn]] void throw_mpi_error(const MpiTable& mpi, int result, const MpiCall& call);

/// Throws TransportError naming the call, both processes and the tag unless `result` is
/// MPI_SUCCESS.
inline void mpi_check(const MpiTable& mpi, int result, const MpiCall& call) {
  if (result != 0) [[unlikely]]
    throw_mpi_error(mpi, result, call);
}

}  // namespace shoal::net
