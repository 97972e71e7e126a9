#pragma once
// Reports about the messages of a rank.

#include <shoal/detail/net/packet.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::team {

class Messenger;

/// Name of a handler in reports, from MessageHeader::handler.
[[nodiscard]] std::string handler_name(const Messenger& messenger, std::uint32_t handler);
/// Text about the message of a run at `offset` of its packet: the name of its handler, or of what
/// it carries. **Precondition**: the packet has arrived, if it has objects.
[[nodiscard]] std::string message_text(const Messenger& messenger, const net::Packet& packet,
                                       const net::Run& run, std::size_t offset);
/// Texts about the messages in a packet for this rank: "send", or "5 x send" for a run of equal
/// ones.
[[nodiscard]] std::vector<std::string> handler_names(const Messenger& messenger,
                                                     const net::Packet& packet);

/// Sums over all links of a rank.
struct MessageStatistics {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
};
/// Statistics of a rank. Any thread.
[[nodiscard]] MessageStatistics statistics_of(const Messenger& messenger);

}  // namespace shoal::team
