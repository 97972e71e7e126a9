#pragma once
// Layout of large messages.

#include <shoal/am/large_message.hpp>

#include <cstddef>

namespace shoal::messaging {

static_assert(sizeof(LargeHeader) % 8 == 0);
/// Bytes before the arguments.
inline constexpr std::size_t kLargeHeaderBytes = net::align_up(sizeof(LargeHeader));

}  // namespace shoal::messaging
