#pragma once
// Reading of packets, run by run.

#include <shoal/am/messenger_options.hpp>
#include <shoal/net/packet.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>

namespace shoal::messaging {

/// Stream of messages that keep their order: of one team, from one rank, in one lane. Multicasts
/// are streams of their own, by their first sender: the rank that passes one on may not have its
/// handler either, so nothing else that this rank sends waits for it.
struct Stream {
  static constexpr std::int32_t kDirect = -1;
  std::uint64_t team = 0;
  std::int32_t source = 0;
  std::uint32_t lane = 0;
  std::int32_t origin = kDirect;  // of multicasts
  auto operator<=>(const Stream&) const = default;
};

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
  /// The stream of the message at `offset`, which begins a run.
  [[nodiscard]] Stream stream_at(const net::Packet& packet, std::size_t offset) const;
  /// The messages from `offset` on belong to several streams.
  [[nodiscard]] bool is_mixed(const net::Packet& packet, std::size_t offset) const;
  /// Packets of one stream each with the messages from `offset` on, in their order; `packet` itself
  /// if it is of one stream. Copies do not count towards the sender's window.
  [[nodiscard]] net::PacketList split(net::Packet* packet, std::size_t offset) const;

 private:
  [[gnu::cold]] void refuse(const net::Packet& packet, const net::Run& run) const;

  const FatalHandler& fatal_;
};

}  // namespace shoal::messaging
