#pragma once
// Reading of packets, run by run.

#include <shoal/am/messenger_options.hpp>
#include <shoal/net/packet.hpp>

#include <cstddef>
#include <cstdint>

namespace shoal::messaging {

/// A packet that is damaged ends the process.
class PacketReader {
 public:
  explicit PacketReader(const FatalHandler& fatal) : fatal_(fatal) {}

  /// The run at `offset`, which becomes that of its first message.
  void read_run(const net::Packet& packet, std::size_t& offset, net::Run& run) const {
    if (net::read_run(packet.messages(), offset, run)) [[likely]]
      return;
    refuse(packet, run);
  }
  /// Number of messages from `offset` on that are queued and not processed. A large message counts
  /// twice: its release at the sender is not due before its header is handled here.
  [[nodiscard]] std::uint64_t unprocessed_from(const net::Packet& packet, std::size_t offset) const;
  /// The messages from `offset` on belong to several teams.
  [[nodiscard]] bool is_mixed(const net::Packet& packet, std::size_t offset) const;
  /// Packets of one team each with the messages from `offset` on, in their order; `packet` itself
  /// if it is of one team. Copies do not count towards the sender's window.
  [[nodiscard]] net::PacketList split(net::Packet* packet, std::size_t offset) const;

 private:
  [[gnu::cold]] void refuse(const net::Packet& packet, const net::Run& run) const;

  const FatalHandler& fatal_;
};

}  // namespace shoal::messaging
