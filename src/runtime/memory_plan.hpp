#pragma once
// Settings of a run that a contention model decides (docs/contention.md).

#include "env/topology.hpp"
#include "runtime/config.hpp"
#include "sched/memory_bound.hpp"

#include <shoal/contention/model.hpp>
#include <shoal/detail/base/function.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::runtime {

/// Decisions about the use of memory.
struct MemoryPlan {
  int memory_bound_max = 0;    // tasks beside large transfers; 0: no limit
  bool limit_is_auto = false;  // the model has decided
  int buffer_node = -1;        // of the model's machine, for large receive buffers; -1: any
  std::optional<contention::Model> model;  // that decides
  std::optional<contention::Model> sim;    // of simulated nodes

  /// Limit of a process with so many workers; 0: none. `auto` leaves one worker for messages.
  [[nodiscard]] int limit_of(int workers) const;
  /// Makes the limit of a process; nullptr if there is none.
  [[nodiscard]] std::shared_ptr<sched::MemoryBoundLimit> make_limit(int workers) const;
  /// Returns a text on the limit for reports; empty without one.
  [[nodiscard]] std::string describe_limit(int workers) const;
};

/// Reads the models that the settings name. **Errors**: ConfigError for a file that cannot be read
/// or is no model, for `auto` without a model, for a node that the model does not have, and for
/// more workers than a simulated node has cores.
[[nodiscard]] MemoryPlan plan_memory(const Config& config);

/// Place of large receive buffers on this machine.
struct BufferPlace {
  std::optional<int> node{};  // logical index of a NUMA node; nothing: anywhere
  std::string text{};         // for people; empty: not asked for
};

/// `numa_nodes`: of the machine, from the socket of the workers on; see
/// Topology::numa_nodes_from().
/// **Errors**: ConfigError for a node that neither the model nor the machine has.
[[nodiscard]] BufferPlace place_buffers(const MemoryPlan& plan, const std::vector<int>& numa_nodes);

/// The lines of --info on memory; empty if nothing was asked for. `buffers`: see BufferPlace.
[[nodiscard]] std::string describe_memory(const MemoryPlan& plan, int workers,
                                          const std::string& buffers);

/// Binds buffers to that place; empty: anywhere. `topology` outlives it.
[[nodiscard]] Function<void(std::span<std::byte>)> buffer_binder(const env::Topology& topology,
                                                                 const BufferPlace& place);

}  // namespace shoal::runtime
