#pragma once
// The command measure on one rank: options, host and file, from its start to its report.

#include <shoal/shoal.hpp>

#include <memory>
#include <optional>
#include "cli/command_line.hpp"

#include "contention/data_file.hpp"
#include "contention/host.hpp"
#include "contention/link.hpp"
#include "contention/measure.hpp"

namespace contention {

/// Adds the options of measure.
void add_measure_options(cli::App& app, MeasureOptions& options);

/// One rank of the measurements: rank 0 is under test, and rank 1 answers it.
class Session {
 public:
  MeasureOptions options;

  /// Opens the file and measures with shoal. Blocks: collective, over 2 ranks of one worker each.
  /// Errors: InputError on all ranks; only that of rank 0 has a text where it concerns its file.
  void measure_with_shoal(shoal::World& world);

  /// The host, after measure_with_shoal().
  [[nodiscard]] const Host& host() const { return *host_; }
  /// Measures with MPI alone. Caller: rank 0.
  void measure_with_mpi(Link& link);
  /// Prints a summary and draws a picture beside the file. Caller: rank 0.
  void report() const;

 private:
  /// On rank 0 only. The same error, without its text, is thrown on rank 1.
  template <class Step>
  static void on_tested_rank(shoal::World& world, Step step);

  std::optional<Host> host_;
  std::unique_ptr<DataFile> file_;  // of rank 0
};

}  // namespace contention
