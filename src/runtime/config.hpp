#pragma once
// Settings of a run, from the command line, SHOAL_* environment variables and a file.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/team/tree_costs.hpp>
#include <shoal/detail/trace/event.hpp>

#include "env/topology.hpp"
#include "net/mpi_transport.hpp"
#include "sim/net_model.hpp"
#include "sim/simulator.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <locale>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace shoal::runtime {

/// Source of environment variables, so that tests do not need those of the process.
struct Environment {
  Function<std::optional<std::string>(const std::string& name)> lookup;
  Function<std::vector<std::string>()> names;  // of all variables, in any order
};

/// An environment of exactly these variables.
Environment environment_of(std::map<std::string, std::string> variables);
/// A copy of the process's environment as it is now.
Environment process_environment();

using env::Pin;

/// The settings of a run. Every field has its default until parse_config() fills it.
struct Config {
  int ranks = 0;    // in all of an embedded run; 0: not given (1)
  int workers = 0;  // per rank; 0: not given, see worker_count()
  int ranks_per_process = 1;
  int node_processes = 64;
  Pin pin = Pin::none;
  net::ProgressPolicy progress = net::ProgressPolicy::worker;
  std::string mpi;          // plug-in where the launcher does not tell; empty: the only one
  std::string mpi_plugin;   // name or file of the plug-in to load; empty: not given
  bool shared_mpi = false;  // the program calls MPI as well, though shoal initializes it
  std::size_t packet_bytes = std::size_t{8} << 10;
  std::size_t window_bytes = std::size_t{1} << 20;  // in flight to one destination; >= packet_bytes
  std::uint64_t flush_ns = 20'000;          // a message waits this long for a busy MPI engine
  bool check_payloads = false;              // of large messages between processes, by a checksum
  std::optional<bool> check_graphs;         // task graphs remember what ran
  team::TreeCosts multicast_costs;          // not known: the rules of TreeShape::automatic
  std::string flow_scheduler = "locality";  // see make_flow_scheduler()
  std::string flow_models;                  // directory of performance models; empty: none
  std::string flow_dag;                     // file of the graphs of flows; empty: none
  std::size_t global_heap_bytes = std::size_t{4} << 30;  // of a rank, in each GlobalMemory
  std::size_t local_heap_bytes = std::size_t{4} << 30;
  std::size_t global_rma_bytes = 0;  // gets of so many use MPI-3 RMA between nodes; 0: none
  std::size_t stack_bytes = std::size_t{8} << 20;  // of a fiber
  std::uint64_t stall_report_ns = 30'000'000'000;  // without anything happening; 0: no watch
  std::uint64_t stall_abort_ns = 0;                // likewise; 0: the run is never ended
  std::string trace_path;                          // file of the trace; empty: nothing is recorded
  std::uint32_t trace_categories = trace::kAllCategories;
  bool trace_paused = false;  // recording begins when it is resumed
  bool info = false;          // print what a run would use, do not run
  bool sim = false;           // in virtual time
  bool sim_check = false;     // the same, twice, comparing
  bool sim_races = false;     // ThreadSanitizer takes tasks for threads
  std::uint64_t sim_seed = 1;
  sim::OrderKind sim_order = sim::OrderKind::time;
  std::string sim_net = "fixed:1us,10G";       // see sim::parse_net_model()
  std::string sim_node_net = "fixed:0us,10G";  // between ranks of one node
  int sim_node_ranks = 1;                      // in each node
  std::uint64_t sim_step_ns = 1000;            // what a step of a worker takes
  std::uint64_t sim_limit_ns = 0;              // the run may take in virtual time; 0: no limit
  sim::CostKind sim_cost = sim::CostKind::declared;
  bool sim_dry = false;            // work with a declared cost is not done
  int sim_log = 0;                 // of the last events to write at the end
  bool sim_log_detection = false;  // those of completion detection among them
  std::string sim_faults;          // see sim::parse_fault_plan()
  double sim_flops = 10e9;         // per second, for costs in flops
  std::string sim_memory;          // file of the model of each node's memory; empty: none
  static constexpr int kAuto = -1;
  std::optional<int> memory_bound_max;  // tasks beside large transfers; kAuto: by the model
  std::string memory_model;             // file
  std::optional<int> buffer_node;       // NUMA node of large receive buffers; kAuto: by the model
  bool help = false;                    // was asked for: print help_text and end with exit code 0
  std::string help_text;                // filled with `help`
  bool version = false;                 // was asked for: print it and end with exit code 0
  std::string command_line;             // all arguments, as they were given
  std::vector<std::string> args;        // the program's own arguments; [0] = program name
  std::vector<std::string> warnings;    // for one process of the run to write

#ifdef NDEBUG
  static constexpr bool kDebugBuild = false;
#else
  static constexpr bool kDebugBuild = true;
#endif

  [[nodiscard]] bool simulate() const { return sim || sim_check || sim_dry || sim_races; }
  [[nodiscard]] bool checks_graphs() const {
    return check_graphs.value_or(simulate() || kDebugBuild);
  }
};

/// Reads the settings: command line before environment before file before default.
///
/// On the command line `--x value`, `--x=value` and the same with --shoal-x are ours. Everything
/// else goes to Config::args in order and untouched, and so does everything behind the first `--`,
/// which itself is dropped. An option that is one letter away from one of ours is refused as a
/// likely typing mistake, unless it stands behind `--`. A value is checked even if one
/// of higher precedence hides it. With --help or --version, nothing else is read.
///
/// An unknown variable SHOAL_* is an error if it is one letter away from that of an option, and
/// else gives a warning. SHOAL_ROOT and other names of an installation are passed over.
///
/// Errors: ConfigError with the source (command line, variable, file and line), what is wrong and
/// what is allowed: bad number, out of range, unknown word, missing or repeated value, unknown
/// option, variable or key, unreadable file. Blocks: to read the file.
Config parse_config(int argc, const char* const* argv, const Environment& env);

/// Workers of each rank: what was asked for, else the PUs shared by `ranks_sharing` ranks; at
/// least 1.
int worker_count(const Config& config, int allowed_pus, int ranks_sharing);

/// Opens a file to be read, with numbers as in C++. `problem`: why that fails, or "".
inline std::ifstream open_input(const std::string& path, std::string& problem) {
  errno = 0;
  std::ifstream file(path);
  file.imbue(std::locale::classic());
  if (!file) {
    problem = std::generic_category().message(errno);
  } else if (std::filesystem::is_directory(path)) {
    problem = "it is a directory";
  }
  return file;
}

}  // namespace shoal::runtime
