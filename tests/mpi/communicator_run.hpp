#pragma once
// Worlds on communicators of the program.

#include <shoal/mpi.hpp>

#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// run() on a communicator; the arguments are those behind the program's name.
template <class F>
int run_with(const std::vector<std::string>& arguments, F function, MPI_Comm communicator) {
  std::vector<const char*> argv{"test"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return run(communicator, static_cast<int>(argv.size()), argv.data(), std::move(function));
}

}  // namespace shoal::testing
