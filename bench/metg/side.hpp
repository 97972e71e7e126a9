#pragma once
// A runtime system under measurement, and the program around it.

#include <cstdint>
#include <string>
#include <vector>

#include "metg/work.hpp"
#include "ranks/program.hpp"

namespace metg {

struct Options {
  std::string pattern = "stencil";
  std::string kernel = "compute";
  std::string form;
  Shape shape;
  int buffer_kib = 4096;
  std::int64_t iterations = -1;  // of each task; below 0: METG is searched for
  int workers = 1;               // of each rank; shoal has an option of its own
  bench::RunOptions run;
};

/// Runtime system that runs graphs. The same on all ranks, if there are several.
class Side {
 public:
  virtual ~Side() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Cores of all ranks.
  [[nodiscard]] virtual int cores() const = 0;

  /// Runs the graph once: seconds, until its last task has run on the slowest rank.
  [[nodiscard]] virtual double run(Work& work) = 0;

  [[nodiscard]] virtual int rank() const { return 0; }
  [[nodiscard]] virtual int rank_count() const { return 1; }
  /// The largest of what the ranks give, on all of them.
  [[nodiscard]] virtual double largest(double value) { return value; }
  /// Values to print beside the options.
  [[nodiscard]] virtual bench::Values config() const { return {}; }
};

/// The columns of one rank, or of one worker.
[[nodiscard]] inline Columns share_of(int width, int count, int index) {
  return {width * index / count, width * (index + 1) / count};
}
/// Owner of a column.
[[nodiscard]] inline int owner_of(int width, int count, int column) {
  return ((column + 1) * count - 1) / width;
}

/// `forms`: the words of --form, ways to use this runtime system. The first is the default.
void add_options(cli::App& app, Options& options, const std::vector<std::string>& forms);
/// Adds --workers.
void add_workers_option(cli::App& app, Options& options);

/// Measures, checks, and prints the result on rank 0. Returns the exit code.
int measure(Side& side, const Options& options);

/// The main function of a program of one process. `make(options)` makes the side.
template <class Make>
int run_alone(int argc, char** argv, const std::vector<std::string>& forms, Make make) {
  Options options;
  const bench::Program program{"metg", "Minimum effective task granularity",
                               [&](cli::App& app) {
                                 add_options(app, options, forms);
                                 add_workers_option(app, options);
                               },
                               [&] {
                                 auto side = make(options);
                                 return measure(side, options);
                               }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}

}  // namespace metg
