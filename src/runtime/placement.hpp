#pragma once
// Where the workers of the processes of a node run.

#include <shoal/machine.hpp>

#include "env/topology.hpp"
#include "runtime/launcher.hpp"
#include "runtime/process_info.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal::runtime {

/// Ranks of the node that may use the same PUs as those of process `mine`.
[[nodiscard]] int ranks_sharing(const std::vector<ProcessInfo>& all, const ProcessInfo& mine);

/// PUs of each worker of the process `layout.process`, in rank order. Workers of the processes of a
/// node that may use the same PUs are spread over them together.
std::vector<env::PuSet> place_workers(const env::Topology& topology, env::Pin pin,
                                      const std::vector<ProcessInfo>& all,
                                      const net::Layout& layout);

/// Advice about one node: the texts of its first process, and none of the others.
/// - A warning, if workers are bound to the same PUs; one, if the system refuses to bind some.
/// - A note, if the launcher's mask leaves half of the node or more unused that workers could use.
///   `workers_asked`: their number per rank was given; else there are as many as the mask has PUs.
std::vector<std::string> placement_advice(const std::vector<ProcessInfo>& all,
                                          const net::Layout& layout, const LaunchInfo& launch,
                                          bool workers_asked);

/// Package and NUMA node of each rank of a process, from the places of all its workers.
std::vector<std::pair<int, int>> locate_ranks(const env::Topology& topology,
                                              const std::vector<env::PuSet>& places, int ranks);

/// Places of all ranks, from the data exchanged by the processes.
std::shared_ptr<const Machine> make_machine(const std::vector<ProcessInfo>& all);

}  // namespace shoal::runtime
