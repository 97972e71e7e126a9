#pragma once
// Measurements of a machine, and the CSV file that holds them.

#include <shoal/contention/calibration.hpp>
#include <shoal/contention/model.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace contention {

/// Computation of a measurement.
enum class Kernel {
  none,
  fill,    // non-temporal stores
  copy,    // STREAM copy
  triad,   // STREAM triad; `work` operations on each element
  primes,  // no memory traffic
  poll     // a shared lock, taken again after `work` pauses
};

/// Kind of communication of a measurement.
enum class Channel {
  none,
  mpi,    // MPI alone
  small,  // active messages of shoal
  large,  // large messages of shoal
  memory  // global memory of shoal: get() from the heap of the peer
};

/// Messages of a measurement.
enum class Traffic {
  none,
  receive,   // messages to the machine, which answers with a few bytes, or has asked for them
  ping_pong  // round trips of messages of one size
};

/// Words of the file. Errors: InputError for a word that is none of them.
[[nodiscard]] std::string_view word(Kernel kernel);
[[nodiscard]] std::string_view word(Channel channel);
[[nodiscard]] std::string_view word(Traffic traffic);
[[nodiscard]] Kernel kernel_of(std::string_view text);
[[nodiscard]] Channel channel_of(std::string_view text);

/// Settings of one measurement. Nodes count from the socket that computes.
struct Point {
  Kernel kernel = Kernel::none;
  int work = 1;   // of kernels that have a parameter
  int cores = 0;  // that compute; 0: communication alone
  int computation_node = 0;
  Channel channel = Channel::none;  // none: computation alone
  Traffic traffic = Traffic::none;
  std::uint64_t message_bytes = 0;
  int communication_node = 0;
  int thread_node = 0;  // of the thread that communicates

  auto operator<=>(const Point&) const = default;
};

/// Results of one repetition; what was not measured is empty.
struct Sample {
  Point point;
  int repetition = 0;
  // All cores together; of kernels without memory traffic, 10^6 operations per second.
  std::optional<double> computation_mb_s;
  std::optional<double> communication_mb_s;
  std::optional<double> latency_us;   // one way
  std::optional<double> core_mhz;     // of the first computing core, at the end
  std::optional<double> memory_mb_s;  // traffic that the memory controllers counted

  bool operator==(const Sample&) const = default;
};

/// Machine of the measurements.
struct Machine {
  std::string name;
  std::string processor;
  int cores = 1;  // that may compute, of one socket
  int nodes = 1;  // NUMA nodes
  int nodes_per_socket = 1;

  bool operator==(const Machine&) const = default;
};

/// Content of a file.
struct Measurements {
  Machine machine;
  std::vector<std::string> notes;  // on what the machine cannot show
  std::vector<Sample> samples;
};

/// First lines of a file: the machine, the notes and the names of the columns.
[[nodiscard]] std::string header_text(const Machine& machine,
                                      const std::vector<std::string>& notes);
/// One line, with its end.
[[nodiscard]] std::string line_of(const Sample& sample);

/// Reads a text. Columns may stand in any order, and further ones are ignored. A last line without
/// its end, as an interrupted program leaves it, is dropped. `path` is for messages.
/// **Errors**: InputError with file and line: no file of this kind, a missing column or line on the
/// machine, a value that is no number, a node that the machine does not have.
[[nodiscard]] Measurements parse(const std::string& text, const std::string& path);

/// Reads a file. **Errors**: those of parse(); InputError when it cannot be read.
[[nodiscard]] Measurements read_measurements(const std::string& path);

/// Text of a file. **Errors**: InputError when it cannot be read.
[[nodiscard]] std::string read_text(const std::string& path);

}  // namespace contention
