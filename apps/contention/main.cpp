// Memory bandwidth that computation and communication share: measures it, makes a model, and gives
// advice.
//
//   mpirun -n 2 contention measure --quick -o henri.csv
//   contention calibrate henri.csv -o henri.json
//   contention plot --model henri.json --data henri.csv -o henri.svg
//   contention advise henri.json --computation-mb 50000 --communication-mb 8000

#include <shoal/shoal.hpp>
#include <shoal/version.hpp>

#include <fmt/format.h>
#include "cli/command_line.hpp"
#include "cli/output.hpp"

#include <array>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "common/input_error.hpp"
#include "common/options.hpp"
#include "contention/commands.hpp"
#include "contention/mpi_link.hpp"
#include "contention/session.hpp"

namespace {

constexpr int kBadInput = 2;
constexpr const char* kMeasure = "measure";
constexpr const char* kMeasureHelp = "Measures this machine (measure -h lists the options)";

/// Runs `body`; the exit code.
template <class Body>
int reporting_errors(Body body) {
  try {
    return cli::code_after_output(body(), "contention");
  } catch (const std::exception& error) {
    cli::tell(fmt::format("contention: {}\n", error.what()));
    return kBadInput;
  }
}

/// After the world has ended, which has initialized MPI if there is one.
int finish(contention::Session& session) {
  if (!contention::mpi_is_there()) {
    session.report();
    return 0;
  }
  contention::with_mpi_link(session.host(), session.options.extent.message_bytes_max,
                            [&](contention::Link& link) { session.measure_with_mpi(link); });
  if (contention::mpi_rank() == 0) session.report();
  return 0;
}

int measure(const std::vector<const char*>& arguments) {
  // Options of shoal that the measurements need, unless the user gives others. No other thread
  // runs.
  setenv("SHOAL_RANKS", "2", 0);    // NOLINT(concurrency-mt-unsafe)
  setenv("SHOAL_WORKERS", "1", 0);  // NOLINT(concurrency-mt-unsafe)
  setenv("SHOAL_PIN", "none", 0);   // NOLINT(concurrency-mt-unsafe)
  // One core may compute for long without a task or a message, the more so on a busy machine.
  setenv("SHOAL_STALL_REPORT", "0s", 0);        // NOLINT(concurrency-mt-unsafe)
  std::array<contention::Session, 2> sessions;  // by rank; one process may have both
  bool has_measured = false;                    // not where -h was asked for
  const int code =
      shoal::run(static_cast<int>(arguments.size()), arguments.data(), [&](shoal::World& world) {
        cli::App app("Measures this machine.", "contention measure");
        auto& session = sessions[world.rank() == 0 ? 0 : 1];
        contention::add_measure_options(app, session.options);
        return apps::run_app(app, world, [&] {
          session.measure_with_shoal(world);
          if (world.rank() == 0 || world.launch() == shoal::Launch::mpi) {
            has_measured = true;
          }
          return 0;
        });
      });
  if (code != 0 || !has_measured) return code;
  const bool is_peer = contention::mpi_is_there() && contention::mpi_rank() == 1;
  return reporting_errors([&] { return finish(sessions[is_peer ? 1 : 0]); });
}

int run(int argc, char** argv) {
  cli::App app("Memory bandwidth shared by computation and communication.", "contention");
  app.set_version_flag("--version", "shoal " SHOAL_VERSION);
  app.require_subcommand();
  app.add_subcommand(kMeasure, kMeasureHelp);  // for --help: it has a parser of its own
  contention::Command chosen;
  contention::add_commands(app, chosen);
  if (const auto code = app.parse(argc, argv)) return cli::code_after_output(*code, "contention");
  return reporting_errors(chosen);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != kMeasure) return run(argc, argv);
  std::vector<const char*> arguments{argv[0]};
  arguments.insert(arguments.end(), argv + 2, argv + argc);
  return measure(arguments);
}
