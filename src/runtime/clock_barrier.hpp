#pragma once
// A barrier that the processes of a run leave at one moment.

#include <cstdint>
#include <optional>

#include "net/mpi_transport.hpp"
#include "trace/file.hpp"

namespace shoal::runtime {

/// Clock of this process, and how it compares with that of its parent in the tree.
struct ComparedClock {
  int parent = -1;          // -1: the root, which is process 0
  trace::SyncPoint point;   // of the comparison that has just been made
  double ticks_per_ns = 1;  // of this process
};

/// Waits until a moment that process 0 chooses, on the clock `read` of this process; see
/// trace::WindowBarrier. Returns that moment in ticks. Without a value on all processes: one of
/// them was late again and again, and the barrier has ended without a moment.
/// **Caller** and **Blocks**: as MpiTransport::compare_clocks(); for a second at most.
[[nodiscard]] std::optional<std::uint64_t> leave_together(net::MpiTransport& transport, int process,
                                                          const ComparedClock& mine,
                                                          const net::ReadClock& read);

}  // namespace shoal::runtime
