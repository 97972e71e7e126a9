#pragma once
// Places of the ranks on the machine.

#include <shoal/rank.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace shoal {

/// Levels of the machine that ranks may share, large ones first.
enum class MachineLevel {
  node,    // one host
  socket,  // one package
  numa,    // one NUMA node
};

/// Place of each rank of the world in the machine. The place of a rank is that of the processor to
/// which its first worker is bound; if it is not bound, that of the first processor that it may
/// use. A simulated machine has nodes of --sim-node-ranks ranks.
class Machine {
 public:
  /// Numbers of the parts of each level that a rank is in: unique in the world.
  struct Place {
    int node = 0;    // node of the network
    int socket = 0;  // package
    int numa = 0;    // NUMA node
  };
  /// A machine with one part of each level.
  Machine() = default;
  /// Places of all ranks.
  explicit Machine(std::vector<Place> places) : places_(std::move(places)) {}

  /// Number of the part of this level that `rank` is in.
  [[nodiscard]] int part_of(Rank rank, MachineLevel level) const;

 private:
  std::vector<Place> places_;  // by rank of the world
};

}  // namespace shoal
