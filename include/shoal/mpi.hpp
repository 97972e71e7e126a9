#pragma once
// For programs that use MPI themselves. The only public header that includes mpi.h.

#include <shoal/run.hpp>

#include <mpi.h>

#include <utility>

namespace shoal {

namespace runtime {
#if defined(OMPI_MAJOR_VERSION)
inline constexpr const char* kMpiHeader = "Open MPI";
#elif defined(MPI_ABI_VERSION)
inline constexpr const char* kMpiHeader = "the standard ABI";
#elif defined(MPICH_VERSION)
inline constexpr const char* kMpiHeader = "MPICH";
#else
inline constexpr const char* kMpiHeader = "";
#endif
}  // namespace runtime

/// Runs `function(world)` as the main function of every rank, as run() does, on the processes of
/// `communicator`, an intracommunicator; all of them call it. MPI was initialized by the program,
/// or by an earlier run(), and stays initialized; the communicator is duplicated, so that messages
/// do not mix with the program's. shoal loads its plug-in for the MPI library that the process has
/// loaded. The program may call MPI before and after; from a main function during the run if MPI
/// was initialized with MPI_THREAD_MULTIPLE, or with --progress main and one rank per process.
///
/// **Thread level** that MPI must have been initialized with (docs/mpi.md):
/// - MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE: enough for everything.
/// - MPI_THREAD_FUNNELED: messages move when the main thread polls, as with --progress main.
/// - MPI_THREAD_SINGLE, which MPI_Init() gives: the same, with --progress main, or with one worker
/// and one rank per process; refused otherwise.
///
/// **Errors**: written to standard error, with the return value 1: for MPI_COMM_NULL, an
/// intercommunicator, a communicator that MPI no longer knows, a thread level that is too low, and
/// an MPI that shoal has no plug-in for.
template <class F>
int run(MPI_Comm communicator, int argc, const char* const* argv, F function) {
  return runtime::run_world(argc, argv, runtime::as_main(std::move(function)),
                            {&communicator, runtime::kMpiHeader});
}

}  // namespace shoal
