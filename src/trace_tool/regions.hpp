#pragma once
// Regions of a run in which its processes recorded events, with pauses between them.

#include "trace_tool/input.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace shoal::trace_tool {

/// Maps times of the run to times of the recording, which stands still while all processes pause:
/// nothing is known of that time.
class Regions {
 public:
  /// **Cost**: reads all events.
  explicit Regions(Input& input);

  /// Returns whether a process has paused: otherwise the whole run was recorded.
  [[nodiscard]] bool any() const { return !recording_.empty(); }
  /// Stretches in which any process recorded.
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Time that was recorded before `time`. Nanoseconds.
  [[nodiscard]] std::int64_t recorded_before(std::int64_t time) const;
  /// Goes on to the next event of a process. Returns whether it is in a region, or its begin or
  /// end: threads may record a little outside.
  [[nodiscard]] bool go_on(int process, Kind kind);

 private:
  struct Pause {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t sum = 0;  // of those up to this one
  };
  std::vector<Pause> pauses_;      // of all processes at a time, in the order of time
  std::map<int, bool> recording_;  // by process; empty: none has paused
  std::size_t count_ = 0;
};

}  // namespace shoal::trace_tool
