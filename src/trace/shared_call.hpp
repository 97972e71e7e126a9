#pragma once
// Calls of which other workers take over work, such as loops: they are spans in traces.

#include <cstdint>

namespace shoal::trace {

/// Value of the span of such a call. Files store it.
inline constexpr std::uint64_t kSharedCall = ~std::uint64_t{0};

}  // namespace shoal::trace
