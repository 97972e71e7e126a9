#pragma once
// Facts that the processes of a world exchange before it starts.

#include "net/mpi_transport.hpp"
#include "runtime/config.hpp"

#include <cstdint>
#include <string>
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

}  // namespace shoal::runtime
