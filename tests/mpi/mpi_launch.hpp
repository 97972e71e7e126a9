#pragma once
// MPI for tests that do not include mpi.h: they are compiled once for all MPIs.

#include "mpi/world_battery.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// For main(): `steps` while MPI is initialized with MPI_THREAD_MULTIPLE. 0 if all went well, else
/// 1 and the text of what did not.
int report_with_mpi(int argc, char** argv, const std::function<void()>& steps);

/// MPI_Init_thread() with a level of SHOAL_MPI_SINGLE to SHOAL_MPI_MULTIPLE, with the arguments of
/// main(). Whether MPI grants just that; if not, process 0 says so.
bool init_launch(int argc, char** argv, int level);
/// MPI_Finalize(), and whether it was called.
void finalize_launch();
bool launch_is_finalized();
/// Errors of MPI_COMM_WORLD and MPI_COMM_SELF are returned.
void return_errors_of_launch();
void abort_launch();
void barrier_of_launch();
/// An error code of this MPI.
int mpi_error_code();

/// MPI_COMM_WORLD, as run_world() and the transport's options take it.
const void* communicator_of_launch();
/// Number of this process in MPI_COMM_WORLD, and how many there are.
int process_of_launch();
int processes_of_launch();

/// The most processes of the launch that share a node.
int collective_near_count();

/// The texts of all processes, `size` bytes of each, at process 0.
std::string collective_gather(std::string mine, int size);

/// run() on MPI_COMM_WORLD; the arguments are those behind the program's name.
template <class F>
int run_on_launch(const std::vector<std::string>& arguments, F function) {
  const std::vector<const char*> argv = argv_of(arguments);
  return runtime::run_world(static_cast<int>(argv.size()), argv.data(),
                            runtime::as_main(std::move(function)), {communicator_of_launch(), ""});
}

}  // namespace shoal::testing
