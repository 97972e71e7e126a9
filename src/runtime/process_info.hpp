#pragma once
// Facts that the processes of a world exchange before it starts.

#include <shoal/archive.hpp>
#include <shoal/detail/net/transport.hpp>

#include "net/mpi_transport.hpp"
#include "runtime/config.hpp"
#include "runtime/launcher.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shoal::runtime {

/// One process, as the others see it.
struct ProcessInfo {
  std::string host{};
  std::int64_t pid = 0;
  std::uint64_t salt = 0;          // random: that of the first process tells worlds apart
  std::vector<int> allowed_pus{};  // sorted indices of the operating system
  int node_pus = 1;                // that it could use if nothing bound it
  int ranks_asked = 0;             // of the world; 0: no number
  int ranks = 1;
  int workers = 1;                           // of all its ranks together
  std::vector<std::vector<int>> places{};    // PUs of each worker, in rank order; empty: not bound
  int unbindable = 0;                        // workers that the system does not let be bound there
  int near_count = 0;                        // processes that it shares memory with
  std::vector<std::pair<int, int>> sites{};  // package and NUMA node of each rank

  template <class Archive>
  void serialize(Archive& ar) {
    ar(host, pid, salt, allowed_pus, node_pus, ranks_asked, ranks, workers, places, unbindable,
       near_count, sites);
  }
};

/// Collective: every process's info, by process. Without a transport: just this one.
std::vector<ProcessInfo> exchange_info(net::Transport* transport, const ProcessInfo& mine);

/// Settings of the program and of the run that must be the same in all processes.
std::vector<net::Setting> agreed_settings(const Config& config);

/// Errors: ConfigError when --ranks of a process differs from the ranks of the launch.
void check_ranks(const std::vector<ProcessInfo>& all, const net::Layout& layout);

/// The values of all processes, in their order. Blocks: collective, see Transport::exchange().
template <class T>
std::vector<T> exchange_all(net::Transport& transport, const T& mine) {
  const std::vector<std::byte> bytes = encoded(mine);
  std::vector<T> all;
  for (const std::string& text :
       transport.exchange({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    const std::vector<std::byte> aligned(first, first + text.size());
    all.push_back(std::get<0>(decode<T>(std::span<const std::byte>(aligned))));
  }
  return all;
}

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
