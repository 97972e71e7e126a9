#pragma once
// Rules of matching events with tasks.

#include <cstdint>

namespace shoal {

/// Rule by which events find the tasks and waits that take them. Both serve consumers in the order
/// of their submission.
enum class MatchingRule : std::uint8_t {
  /// Of the EDAT paper. Surplus events of a persistent task belong to its later runs.
  paper,
  /// Of the EDAT library, for edat.h. A persistent task holds the events of one run only: later
  /// ones stay free for others. Tasks are served before waits.
  library,
};

}  // namespace shoal
