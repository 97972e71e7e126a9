#pragma once
// Shared by kernel programs of several ranks: options and exit.

#include <functional>
#include <string>
#include <vector>

#include "common/result.hpp"

namespace cli {
class App;
}

namespace bench {

/// One timed run, as a rank saw it.
struct Sample {
  double seconds = 0;
  bool verified = true;
};

/// The median of the seconds; verified if all were.
Sample median(const std::vector<Sample>& samples);

/// Prints the result of all ranks, or says that the answer is wrong. Returns the exit code.
int finish(const Result& result, bool verified);

/// Adds --repeat and --time-limit, and lets the last of several values of an option count.
struct RunOptions {
  int repeat = 1;
  int time_limit_s = 120;
};
void add_run_options(cli::App& app, RunOptions& options);

struct Program {
  std::string name;
  std::string about;
  std::function<void(cli::App&)> add_options;
  std::function<int()> body;  // its result is the exit code
};

/// Parses the arguments behind the program's name and calls body() if they are good. A bad option,
/// and a std::invalid_argument that body() throws on all ranks, are answered by the rank for which
/// `tells` holds.
int run_program(const Program& program, std::vector<std::string> arguments, bool tells);

/// A signal ends this process, and with it the run, when it takes longer.
void limit_time(const RunOptions& options);

}  // namespace bench
