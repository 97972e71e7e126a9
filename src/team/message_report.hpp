#pragma once
// Reports about the messages of a rank.

#include <shoal/detail/net/packet.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::team {

class Messenger;

/// Name of a handler in reports, from MessageHeader::handler.
[[nodiscard]] std::string handler_name(const Messenger& messenger, std::uint32_t handler);
/// Names of the handlers of the messages in a packet for this rank: "send", or "5 x send" for a
/// run of equal ones.
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
