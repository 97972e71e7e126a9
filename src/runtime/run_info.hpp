#pragma once
// --info: a description of a run, in place of the run.

#include "net/mpi_transport.hpp"
#include "runtime/config.hpp"
#include "runtime/launcher.hpp"
#include "runtime/process_info.hpp"

#include <string>
#include <vector>

namespace shoal::runtime {

/// MPI as a run would use it.
struct MpiUse {
  std::string library;  // name and version, or "none"
  std::string plugins;
  std::string thread_level;  // empty: the run does not use MPI
  net::ProgressPolicy progress = net::ProgressPolicy::worker;
};

/// Ranks, workers and processors of every process, and how messages travel; lines for people.
std::string describe_run(const LaunchInfo& launch, const net::Layout& layout,
                         const std::vector<ProcessInfo>& all, const MpiUse& mpi);

/// Returns whether freed memory stays in this process; one line for people.
std::string describe_malloc();

/// Returns the description of a simulated run (--sim).
std::string describe_simulation(const Config& config, const std::string& mpi_plugins);

}  // namespace shoal::runtime
