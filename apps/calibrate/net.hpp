#pragma once
// Parameters of the network between two ranks, and the cost of a task.

#include <shoal/shoal.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace calibrate {

/// Times of a get from global memory, of eight that are under way at once, in nanoseconds.
struct GetFigure {
  std::size_t size_bytes = 0;
  double message_ns = 0;
  double rma_ns = 0;
};

/// Measured times in nanoseconds.
struct NetFigures {
  double task_ns = 0;           // to make and run an empty task
  double one_way_ns = 0;        // half a round trip of 8 bytes, handler to handler
  double packet_ns = 0;         // between full packets, one way
  double packet_bytes = 0;      // of the arguments in such a packet
  double byte_ns = 0;           // of a large message, one way
  std::vector<GetFigure> gets;  // empty: none was MPI-3 RMA
};

/// Measures between the ranks 0 and 1 while all others wait; each figure is the median of so many
/// repetitions. The figures are on rank 0. Blocks: collective.
NetFigures measure_net(shoal::World& world, int repetitions);

/// Number of rounds of a measurement of gets, by the time of the first one: some MPIs take
/// milliseconds for each get.
std::size_t rounds_of_gets(double round_ns, std::size_t bytes);

/// The size from which on gets by MPI-3 RMA were at least as fast as those by messages; 0: none.
std::size_t faster_by_rma_from(const std::vector<GetFigure>& gets);

/// The figures as the lines of a file for --config: --sim-net and --sim-step, and --global-rma if
/// it was measured.
std::string to_config(const shoal::World& world, const NetFigures& figures);

}  // namespace calibrate
