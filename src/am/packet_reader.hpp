#pragma once
// Reading of packets, run by run.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/packet.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "am/messenger_options.hpp"

namespace shoal::messaging {

/// Stream of messages that keep their order: of one team, from one rank, in one lane, and with one
/// kind of handler.
///
/// Multicasts are streams of their own, by their first sender, recipients and tree. The rank that
/// passes one on may not have its handler either, so nothing else that this rank sends waits for
/// it. And along other trees earlier multicasts of that sender may come later.
struct Stream {
  static constexpr std::int32_t kDirect = -1;
  static constexpr std::uint32_t kShared = 0;    // handlers of the program keep one order
  static constexpr std::uint32_t kStatic = 1;    // the static ones of models another one; then:
  static constexpr std::uint32_t kInstance = 2;  // + the index of a handler of its own order

  std::uint64_t team = 0;
  std::int32_t source = 0;
  std::uint32_t lane = 0;
  std::uint32_t order = kShared;
  std::int32_t origin = kDirect;  // of multicasts
  std::uint32_t path = 0;         // of multicasts: MulticastHeader::path
  auto operator<=>(const Stream&) const = default;
};

/// The messages of a packet from `offset` on, where a run begins.
struct PacketPart {
  net::PacketHolder packet;
  std::size_t offset = 0;
};
using PacketParts = std::deque<PacketPart>;

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
  /// Number of messages before `offset`.
  [[nodiscard]] std::uint64_t count_before(const net::Packet& packet, std::size_t offset) const;
  /// Number of messages that are queued and not processed. A large message counts twice: its
  /// release at the sender is not due before its header is handled here.
  [[nodiscard]] std::uint64_t unprocessed(const PacketPart& part) const;
  /// The stream of its first message.
  [[nodiscard]] Stream stream_of(const PacketPart& part) const;
  /// Parts with the same messages in the same order: each is of one stream that waits, or of those
  /// that do not. The part itself if it is so already; copies do not count towards the sender's
  /// window.
  [[nodiscard]] PacketParts split(PacketPart part, FunctionRef<bool(const Stream&)> waits) const;

 private:
  /// Consecutive messages of a packet.
  struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t count = 0;
  };

  [[gnu::cold]] void refuse(const net::Packet& packet, const net::Run& run) const;
  /// Calls f(run, offset) for each message.
  template <class F>
  void for_each_message(const PacketPart& part, F f) const;
  [[nodiscard]] std::vector<Stretch> stretches_of(const PacketPart& part,
                                                  FunctionRef<bool(const Stream&)> waits) const;

  const FatalHandler& fatal_;
};

}  // namespace shoal::messaging
