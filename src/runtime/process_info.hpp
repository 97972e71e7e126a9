#pragma once
// What the processes of a world tell each other before it starts.

#include "env/topology.hpp"

#include <shoal/net/transport.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::runtime {

/// One process, as the others see it.
struct ProcessInfo {
  std::uint64_t fingerprint = 0;  // of the table of static handlers
  std::string host;
  std::vector<int> allowed_pus;  // sorted indices of the operating system
  int ranks = 1;
  int workers = 1;  // of all its ranks together

  template <class Archive>
  void serialize(Archive& ar) {
    ar(fingerprint, host, allowed_pus, ranks, workers);
  }
};

/// Collective: every process's info, by process. Without a transport: just this one.
std::vector<ProcessInfo> exchange_info(net::Transport* transport, const ProcessInfo& mine);

/// Errors: ConfigError when two processes run different programs.
void check_fingerprints(const std::vector<ProcessInfo>& all, int process);

/// Where the workers of one process go, and what to tell the user about it.
struct Placement {
  std::vector<env::PuSet> workers;    // one for each worker of the process, in rank order
  std::vector<std::string> warnings;  // not empty only in the first process of a node
};

/// Collective if there is a transport. Workers of the processes of a node that may use the same PUs
/// are spread over them together.
Placement place_workers(const env::Topology& topology, env::Pin pin, net::Transport* transport,
                        const std::vector<ProcessInfo>& all, const net::Layout& layout);

}  // namespace shoal::runtime
