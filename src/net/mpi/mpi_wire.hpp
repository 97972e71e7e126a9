#pragma once
// Messages over MPI. Each message on kPacketTag is one sealed packet of a link, or of the engine
// itself.

#include <shoal/detail/net/packet.hpp>

#include <algorithm>

namespace shoal::net {

inline constexpr int kPacketTag = 1;  // packets, in order
inline constexpr int kLargePacketTag =
    2;  // packets too large for a preposted receive, as announced
inline constexpr int kPayloadTagFirst = 16;  // payloads: this and all tags above

/// In PacketHeader::lane: a packet of the engine itself. Its source and target are the first ranks
/// of the two processes; its messages have an MpiMessage as handler.
inline constexpr std::uint32_t kEngineLane = kLaneCount;

enum class MpiMessage : std::uint32_t {
  acknowledge = 1,  // MpiAcknowledgement[]
  announce = 2,     // one MpiAnnouncement
  pieces = 3,       // one MpiPieces, its sizes, and the rest if it fits
};

/// The target's rank is done with `bytes` of the messages that the normal lane brought.
struct MpiAcknowledgement {
  std::int32_t source;
  std::int32_t target;
  std::uint64_t bytes;
};

/// The next packet of this lane comes on kLargePacketTag (the one-way handshake: Papadopoulos,
/// "STAPL Runtime System", appendix B.2). It holds its place in the order of the lane.
struct MpiAnnouncement {
  std::int32_t source;
  std::int32_t target;
  std::uint64_t lane;
  std::uint64_t size_bytes;  // of the messages in it
};

/// The next packet of this lane has its message in pieces. Behind it stand the sizes of the pieces,
/// with kBlockBit. Then come, in this message or on kLargePacketTag, the packet and the short
/// pieces, each in its body_place(), and after them the others on kLargePacketTag.
struct MpiPieces {
  std::int32_t source;
  std::int32_t target;
  std::uint64_t lane;
  std::uint64_t size_bytes;  // of the messages in the packet
  std::uint64_t slot;        // see PacketPieces::slot
  std::uint64_t body_bytes;  // of the packet and the short pieces
  std::uint64_t checksum;
  std::uint32_t checked;
  std::uint32_t count;  // of the pieces
};
inline constexpr std::uint64_t kBlockBit = std::uint64_t{1} << 63U;

/// Room for messages in a preposted receive: for most packets of links, and for the engine's.
inline constexpr std::size_t kEnginePacketBytes = 1024;
constexpr std::size_t receive_bytes(std::size_t packet_bytes) {
  return std::max(packet_bytes, kEnginePacketBytes);
}
inline constexpr std::size_t kAcknowledgementsMax =
    (kEnginePacketBytes - sizeof(RunHeader)) / sizeof(MpiAcknowledgement);

}  // namespace shoal::net
