#pragma once
// Runs a world inside a test.

#include <shoal/run.hpp>

#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// A program's name and the arguments behind it, which must outlive the result.
inline std::vector<const char*> argv_of(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"test"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return argv;
}

/// shoal::run() with this command line; `arguments` are those behind the program's name.
template <class F>
int run_with(const std::vector<std::string>& arguments, F function) {
  std::vector<const char*> argv = argv_of(arguments);
  const int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  return run(argc, argv.data(), std::move(function));
}

/// An embedded world of this shape; `more` are further arguments. Returns the exit code.
///
/// The main functions of all ranks share `function`'s captures and run at the same time.
template <class F>
int run_world(int ranks, int workers, F function, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"--ranks", std::to_string(ranks), "--workers",
                                     std::to_string(workers)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_with(arguments, std::move(function));
}

}  // namespace shoal::testing
