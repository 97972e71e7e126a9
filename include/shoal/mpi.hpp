#pragma once
// For programs that use MPI themselves. The only public header that includes mpi.h.

#include <shoal/runtime/run.hpp>

#include <mpi.h>

#include <utility>

namespace shoal {

/// run() on the processes of `communicator`, which all call it. MPI was initialized by the program
/// and stays so; the communicator is duplicated, so that messages do not mix with the program's.
/// The program may call MPI before and after; from a main function during the run if MPI was
/// initialized with MPI_THREAD_MULTIPLE, or with --progress main and one rank per process.
template <class F>
int run(MPI_Comm communicator, int argc, const char* const* argv, F function) {
  return runtime::run_world(argc, argv, runtime::as_main(std::move(function)), &communicator);
}

}  // namespace shoal
