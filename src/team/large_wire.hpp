#pragma once
// Layout of large messages.

#include <shoal/large_message.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace shoal::team {

static_assert(sizeof(LargeHeader) % 8 == 0);
/// Bytes before the arguments.
inline constexpr std::size_t kLargeHeaderBytes = net::align_up(sizeof(LargeHeader));

/// Parts of a large message beside its header.
struct LargeParts {
  std::span<const std::byte> multicast;  // before the header
  std::span<const std::byte> arguments;
};
/// send_large() with a multicast's part.
void send_large_below(TeamCore& core, const Route& route, const Payload& payload,
                      const LargeParts& parts, std::unique_ptr<CountedEvent> release);

}  // namespace shoal::team
