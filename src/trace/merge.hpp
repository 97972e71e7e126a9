#pragma once
// One trace of the parts that the processes of a run wrote.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::trace {

struct MergeOptions {
  /// Memory for events. Beyond it, a track takes about a kilobyte, a chunk 8 bytes, and the names
  /// what they are long: 10^8 events of 1000 tracks stay far below 1 GiB.
  std::size_t memory_bytes = std::size_t{128} << 20U;
};

/// Facts about the merged trace, also in its chunk `end`.
struct MergeReport {
  std::uint64_t events = 0;
  std::uint32_t parts = 0;
  std::uint32_t parts_missing = 0;
  std::uint64_t dropped = 0;                  // events, by full buffers
  std::uint64_t steps_back = 0;               // events before their predecessor: set to its time
  std::uint64_t uncertainty_ns = 0;           // of the clocks of two processes, at most
  std::uint64_t barriers = 0;                 // that all processes left at one moment
  std::uint64_t barrier_spread_ns = 0;        // by how much these moments differ, at most
  std::uint64_t barrier_uncertainty_ns = 0;   // and may, by comparisons of clocks, and by drift
  std::vector<std::uint32_t> unsynchronized;  // processes with a clock that is related to no other
  std::vector<std::string> damage;            // of parts: cut off, damaged, or from a killed run
};

/// Parts of the trace `path`, in the order of processes.
[[nodiscard]] std::vector<std::string> find_parts(const std::string& path);

/// Merges parts of one run into the file `output`: clocks agree, events are in the order of time,
/// which begins with 0 at the first of them; tracks are ordered by rank and worker. The same parts
/// give the same file. Streams: see MergeOptions.
/// **Errors**: Error when a part is no trace, is merged already, or is given twice; when clocks
/// cannot be related; when the output cannot be written. Damaged ends of parts are reported.
MergeReport merge(const std::vector<std::string>& parts, const std::string& output,
                  const MergeOptions& options = {});

}  // namespace shoal::trace
