#pragma once
// Result of a wait with a deadline.

#include <shoal/detail/base/language.hpp>

#include <cstdint>

namespace shoal {

/// Result of a wait with a deadline: of wait_for() and wait_until().
enum class FutureStatus : std::uint8_t {
  /// The value or the exception is there.
  ready,
  /// The deadline has passed before.
  timeout
};

}  // namespace shoal
