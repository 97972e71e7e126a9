#pragma once
// Comparison of the clocks of processes by round trips along a tree.

#include "net/mpi/mpi_session.hpp"

namespace shoal::net {

/// Compares the clocks of the processes, see MpiTransport::compare_clocks().
ClockTrips compare_clocks(const MpiSession& session, const ReadClock& read, int count);

}  // namespace shoal::net
