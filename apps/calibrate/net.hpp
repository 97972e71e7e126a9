#pragma once
// Parameters of the network between two ranks, and the cost of a task.

#include <shoal/shoal.hpp>

#include <string>

namespace calibrate {

/// Measured times in nanoseconds.
struct NetFigures {
  double task_ns = 0;       // to make and run an empty task
  double one_way_ns = 0;    // half a round trip of 8 bytes, handler to handler
  double packet_ns = 0;     // between full packets, one way
  double packet_bytes = 0;  // of the arguments in such a packet
  double byte_ns = 0;       // of a large message, one way
};

/// Measures between the ranks 0 and 1 while all others wait. The figures are on rank 0.
/// Blocks: collective.
NetFigures measure_net(shoal::World& world);

/// The figures as the lines of a file for --config: --sim-net and --sim-step.
std::string to_config(const shoal::World& world, const NetFigures& figures);

}  // namespace calibrate
