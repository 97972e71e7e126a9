#pragma once
// Options and counters of a GlobalMemory.

#include <shoal/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace shoal {

/// Options of a GlobalMemory; the same on all ranks.
struct GlobalMemoryOptions {
  std::string name = "memory";  // in reports
  /// Size of each rank's global heap, in bytes of address space: pages are taken as they are
  /// written. One half is for collective allocations. 0: --global-heap, else 4 GiB.
  std::size_t heap_bytes = 0;
  /// Size of each rank's local heap, in bytes of address space. 0: --local-heap, else 4 GiB.
  std::size_t local_heap_bytes = 0;
  /// Smallest size of a get from another node that uses MPI-3 RMA, in a run with --global-rma; 0:
  /// the size of that option. Smaller gets, and all of less than 16 bytes, use messages.
  std::size_t rma_bytes = 0;
  /// Whether accesses are checked.
  enum class Checks : std::uint8_t { as_run, off, on };
  /// Checks every access against the allocations of its target, which it reaches by a message. On
  /// by default where --check-graphs is: in simulated worlds and debug builds. Off by default with
  /// --sim-races, which finds other mistakes.
  Checks checks = Checks::as_run;
};

/// Counters of one rank.
struct GlobalMemoryStatistics {
  std::uint64_t requests = 0;           // accesses that travelled as messages
  std::uint64_t request_bytes = 0;      // of data that they moved
  std::uint64_t direct_ranks = 0;       // ranks whose heaps are reached by loads and stores
  std::uint64_t rma_gets = 0;           // of the requests: those that were MPI-3 RMA
  std::uint64_t allocations = 0;        // live ones in the own global heap
  std::uint64_t used_bytes = 0;         // by them
  std::uint64_t local_allocations = 0;  // live ones in the local heap
  std::uint64_t local_bytes = 0;        // by them
};

}  // namespace shoal
