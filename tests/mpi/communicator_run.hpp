#pragma once
// Worlds on communicators of the program.

#include <shoal/mpi.hpp>

#include "mpi/world_battery.hpp"

#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// run() on a communicator; the arguments are those behind the program's name.
template <class F>
int run_with(const std::vector<std::string>& arguments, F function, MPI_Comm communicator) {
  const std::vector<const char*> argv = argv_of(arguments);
  return run(communicator, static_cast<int>(argv.size()), argv.data(), std::move(function));
}

}  // namespace shoal::testing
