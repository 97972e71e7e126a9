#pragma once
// The host: its cores and NUMA nodes, threads bound to cores, and memory on a node.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contention/measurements.hpp"

namespace contention {

/// Place of the rank that answers. On the same host, its thread needs a core, too.
enum class Peer { other_host, same_host };

/// Cores and NUMA nodes that the process may use, as they were when it was made.
/// Caller: any thread; a Host is not changed after construction.
class Host {
 public:
  /// Errors: InputError when hwloc cannot read the topology.
  explicit Host(Peer peer);
  /// A host that does not exist, as hwloc writes it: "pack:2 numa:2 core:4 pu:1". Threads are not
  /// bound, and memory is not placed.
  Host(const std::string& synthetic, Peer peer);
  Host(Host&&) noexcept;
  ~Host();

  /// Name, processor, cores that compute, and NUMA nodes.
  [[nodiscard]] const Machine& machine() const { return machine_; }
  /// Sentences about measurements that this host cannot make, or not well.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// NUMA node for the communicating thread, unless a measurement chooses another: the last one.
  [[nodiscard]] int default_thread_node() const { return machine_.nodes - 1; }

  /// Index of the core, among all, of a communicating thread: the last one of the node, or for the
  /// sender on the same host the one before. Empty where no core is left beside computation: that
  /// thread is not bound.
  [[nodiscard]] std::optional<int> communication_core(int node, bool is_sender) const;

  /// Binds the calling thread to a core, or with no core to all. False when the system refuses.
  [[nodiscard]] bool bind_thread(std::optional<int> core) const;

  /// One processor of each socket, as the operating system numbers them; none of a host that does
  /// not exist.
  [[nodiscard]] std::vector<int> socket_processors() const;

  /// Frequency of a core in MHz, if the system tells.
  [[nodiscard]] std::optional<double> core_mhz(int core) const;

  /// Memory on a NUMA node. Freed with the last copy, which must not outlive the host.
  struct Memory {
    std::shared_ptr<std::byte> begin;
    std::size_t size_bytes = 0;
    [[nodiscard]] std::span<std::byte> bytes() const { return {begin.get(), size_bytes}; }
  };
  /// Errors: InputError when there is not as much memory, or it cannot be placed.
  [[nodiscard]] Memory allocate(std::size_t size_bytes, int node) const;

 private:
  struct Topology;
  struct Core {
    int node = 0;
    int socket = 0;
    int pu = 0;  // the operating system's index of the first hardware thread
  };
  void look();
  [[nodiscard]] bool can_bind() const;
  void write_notes();

  std::unique_ptr<Topology> topology_;
  Peer peer_;
  Machine machine_;
  std::vector<std::string> notes_;
  std::vector<Core> cores_;  // by socket and node; those that compute come first
};

}  // namespace contention
