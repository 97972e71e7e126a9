#pragma once
// Packets: the unit that travels between two ranks. A packet holds whole messages.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/sync/list.hpp>
#include <shoal/detail/sync/prefetch.hpp>
#include <shoal/detail/trace/event.hpp>
#include <shoal/rank.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace shoal::net {

/// Messages of one lane between two ranks are delivered in the order sent; lanes do not wait for
/// each other. `control` carries the runtime's own messages: uncounted and never held back.
/// `urgent` carries messages of programs that overtake those of `normal`; transports do not hold
/// them back either.
enum class Lane : std::uint8_t { normal = 0, control = 1, urgent = 2 };
inline constexpr int kLaneCount = 3;

/// How far ahead of what is written, or read, a packet's memory is asked for: it was last in the
/// cache of another processor.
inline constexpr std::size_t kPrefetchBytes = 512;

/// Every message starts at a multiple of this, so that its arguments can be viewed in place; one of
/// at most half as many bytes at a multiple of half of it.
inline constexpr std::size_t kMessageAlign = 16;

constexpr std::size_t align_up(std::size_t n) {
  return (n + kMessageAlign - 1) / kMessageAlign * kMessageAlign;
}

/// Distance from one message of `size_bytes` to the next one of its run.
constexpr std::size_t message_step(std::size_t size_bytes) {
  return size_bytes <= kMessageAlign / 2 ? kMessageAlign / 2 : align_up(size_bytes);
}

// Fields of MessageHeader::handler: the index of the handler in its table, below the flags.
inline constexpr std::uint32_t kInstanceBit = 1U << 31U;  // index of an instance handler
inline constexpr std::uint32_t kObjectBit = 1U << 30U;    // arguments: pointer to an ObjectMessage
inline constexpr std::uint32_t kLargeBit = 1U << 29U;     // announces a payload by a LargeHeader
/// The message belongs to another team than the world, or a task of another team has sent it.
inline constexpr std::uint32_t kTeamBit = 1U << 28U;
inline constexpr std::uint32_t kMulticastBit = 1U << 27U;  // to be passed on as well
inline constexpr std::uint32_t kPrefixBit = 1U << 26U;     // the arguments have a RunPrefix
/// The message is ordered among those of its handler only, or of all such static handlers: messages
/// of models, and their answers. While such a message waits at a rank that has not made its
/// handler, it does not hold back other messages, nor do they hold back it.
inline constexpr std::uint32_t kOwnOrderBit = 1U << 25U;
inline constexpr std::uint32_t kIndexMask = kOwnOrderBit - 1;

// Field of MessageHeader::team, beside the id of the team, which does not have this bit.
/// The messages are about the team, but are the world's. They wait until the team exists, are
/// handled as well when it has ended, and count in the world, if at all.
inline constexpr std::uint64_t kAboutBit = std::uint64_t{1} << 62U;

/// First arguments of consecutive messages to one handler: they travel once for each run.
struct RunPrefix {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  bool operator==(const RunPrefix&) const = default;
};

/// Message metadata.
struct MessageHeader {
  std::uint32_t handler = 0;    // index in the table of static or instance handlers, with flag bits
  std::uint32_t signature = 0;  // hash of the handler's argument types
  std::uint64_t size_bytes = 0;  // of the arguments, without padding
  std::uint64_t team = 0;        // id, perhaps with kAboutBit; travels with kTeamBit only
  std::uint64_t sender = 0;      // team that waits for an acknowledgement; 0: none. Likewise
};

/// Header of a run in a packet: consecutive messages with the same handler, signature, size and
/// prefix. At a multiple of kMessageAlign; so small messages of one kind take little more than
/// their arguments.
struct RunHeader {
  static constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 16U) - 1;
  static constexpr std::uint64_t kSizeMax = (std::uint64_t{1} << 48U) - 1;

  explicit RunHeader(const MessageHeader& message)
      : handler(message.handler),
        signature(message.signature),
        size_bytes(message.size_bytes & kSizeMax) {}
  RunHeader() : RunHeader(MessageHeader{}) {}
  [[nodiscard]] bool may_take(const MessageHeader& message) const {
    // One comparison for the size and the count, which comes to the low end.
    std::uint64_t extent = 0;
    std::memcpy(&extent, &signature + 1, sizeof extent);
    return handler == message.handler && signature == message.signature &&
           std::rotl(extent ^ message.size_bytes, 16) < kCountMax;
  }
  [[nodiscard]] std::size_t step() const { return message_step(size_bytes); }
  /// Handler and signature.
  [[nodiscard]] std::uint64_t kind() const { return kind_of(handler, signature); }
  static constexpr std::uint64_t kind_of(std::uint32_t handler, std::uint32_t signature) {
    return (std::uint64_t{signature} << 32U) | handler;
  }

  std::uint32_t handler;
  std::uint32_t signature;
  std::uint64_t size_bytes : 48;  // of each message
  std::uint64_t count : 16 = 0;   // of the messages
};
static_assert(sizeof(RunHeader) == kMessageAlign);

/// Behind a RunHeader with kTeamBit.
struct TeamTag {
  std::uint64_t team = 0;  // id
  std::uint64_t sender = 0;
};
static_assert(sizeof(TeamTag) == kMessageAlign);
// Behind both, with kPrefixBit: the RunPrefix.
static_assert(sizeof(RunPrefix) == kMessageAlign);
inline constexpr std::uint32_t kTagBits = kTeamBit | kPrefixBit;

/// Header of a run as it was read.
struct Run : RunHeader {
  std::uint64_t team = 0;    // 0: the world
  std::uint64_t sender = 0;  // 0: none
  RunPrefix prefix;          // with kPrefixBit only
};

/// Reads the header of the run at `offset` of a packet's messages, which moves on to its first
/// message; behind the last one is the next run. False: this is no run.
[[nodiscard]] bool read_run(std::span<const std::byte> messages, std::size_t& offset, Run& run);

/// Wire header of a packet.
struct PacketHeader {
  std::uint64_t checksum;  // XXH3 over what stands behind it: the rest of the header, the messages
  std::uint32_t magic;
  std::uint32_t lane;
  std::int32_t source;
  std::int32_t target;
  std::uint64_t sequence;    // counts the packets of one lane from source to target, from 0
  std::uint64_t size_bytes;  // of the messages behind the header
  std::uint32_t message_count;
  std::uint32_t first_message;  // number of the first one on its link, from 1; for traces
};
inline constexpr std::uint32_t kPacketMagic = 0x5B0A1001;
static_assert(sizeof(PacketHeader) % kMessageAlign == 0);

/// XXH3.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes);

class Pieces;

/// Arguments of the only message of a packet, in pieces that travel beside the packet.
struct PacketPieces {
  std::shared_ptr<Pieces> pieces{};  // on the way; at the receiver a ReceivedMessage has them
  std::size_t size_bytes = 0;        // of the pieces
  std::size_t slot = 0;              // place of the pointer to that object, in the messages
};

/// Notified when the receiver has consumed bytes, so that the sender may send more.
class PacketOwner {
 public:
  virtual void consumed(std::size_t accounted_bytes) = 0;

 protected:
  ~PacketOwner() = default;
};

/// Reference-counted buffer: a PacketHeader and messages in one allocation.
class Packet {
 public:
  /// Reference count 1; room for `capacity_bytes` of messages.
  static Packet* create(std::size_t capacity_bytes);

  /// Returns the form in which a packet is kept for long: itself if it is half full or shared, else
  /// a copy that takes no more memory than its messages need. The caller's reference is transferred
  /// to it.
  static Packet* compact(Packet* packet);

  /// Reports to the owner now instead of on the last release(). The caller holds a reference. Any
  /// thread.
  void disown();
  /// Drops one reference; the last one reports to the owner and frees.
  void release();
  // relaxed: the caller holds a reference.
  void add_reference() { references_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] PacketHeader& header() { return header_; }
  [[nodiscard]] const PacketHeader& header() const { return header_; }
  [[nodiscard]] std::size_t room_bytes() const { return capacity_bytes_ - header_.size_bytes; }
  [[nodiscard]] std::byte* body() { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] std::span<std::byte> messages() { return {body(), header_.size_bytes}; }
  [[nodiscard]] std::span<const std::byte> messages() const {
    return {reinterpret_cast<const std::byte*>(this + 1), header_.size_bytes};
  }
  /// Header and messages, contiguous, as they go over a wire.
  [[nodiscard]] std::span<std::byte> wire() {
    return {reinterpret_cast<std::byte*>(&header_), sizeof(PacketHeader) + header_.size_bytes};
  }
  [[nodiscard]] std::size_t capacity_bytes() const { return capacity_bytes_; }

  // `prefix` of a message: with kPrefixBit; else nullptr, which costs nothing where it is known.

  // Inlined at every level of optimization but none: what is known of a message where it is sent,
  // its size and signature, is known here.

  /// Adds the message to the last run, if it fits there; returns whether it does.
  [[nodiscard]] SHOAL_ALWAYS_INLINE bool continues(const MessageHeader& message,
                                                   const RunPrefix* prefix = nullptr) const {
    return run_ != nullptr && run_->may_take(message) && has_tags(message, prefix);
  }
  /// The last run, whose handler is that of the message, is also of its teams and prefix.
  [[nodiscard]] SHOAL_ALWAYS_INLINE bool has_tags(const MessageHeader& message,
                                                  const RunPrefix* prefix) const {
    return ((message.handler & kTeamBit) == 0 ||
            (tag_of(run_)->team == message.team && tag_of(run_)->sender == message.sender)) &&
           (prefix == nullptr || *prefix_of(run_, message.handler) == *prefix);
  }
  /// How many more messages the last run has room for.
  [[nodiscard]] std::size_t joinable() const {
    return std::min<std::size_t>(RunHeader::kCountMax - run_->count, room_bytes() / run_->step());
  }
  /// `count` messages have been written behind the last run, to join it. Returns their bytes.
  std::size_t join(std::size_t count) {
    const std::size_t size_bytes = count * run_->step();
    run_->count = (run_->count + count) & RunHeader::kCountMax;
    header_.size_bytes += size_bytes;
    header_.message_count += static_cast<std::uint32_t>(count);
    return size_bytes;
  }
  /// The bytes that one more message takes: with padding, and headers if it starts a run.
  [[nodiscard]] SHOAL_ALWAYS_INLINE std::size_t bytes_for(const MessageHeader& message,
                                                          bool continues,
                                                          const RunPrefix* prefix) const {
    const std::size_t step = message_step(message.size_bytes);
    if (continues) return step;
    return align_up(header_.size_bytes) - header_.size_bytes + header_bytes(message, prefix) + step;
  }
  [[nodiscard]] std::size_t bytes_for(const MessageHeader& message,
                                      const RunPrefix* prefix = nullptr) const {
    return bytes_for(message, continues(message, prefix), prefix);
  }
  /// Upper bound of bytes_for() in an empty packet.
  [[nodiscard]] static std::size_t bytes_at_most(const MessageHeader& message,
                                                 const RunPrefix* prefix = nullptr) {
    const std::size_t size_bytes = message.size_bytes;
    return header_bytes(message, prefix) + align_up(size_bytes > 0 ? size_bytes : 1);
  }

  /// Makes room for one message at the end; the caller has checked bytes_for() and room_bytes().
  std::span<std::byte> add_message(const MessageHeader& message,
                                   const RunPrefix* prefix = nullptr) {
    return add_message(message, continues(message, prefix), prefix);
  }
  SHOAL_ALWAYS_INLINE std::span<std::byte> add_message(const MessageHeader& message, bool continues,
                                                       const RunPrefix* prefix) {
    if (!continues) [[unlikely]]
      start_run(message, prefix);
    ++run_->count;
    std::byte* const place = body() + header_.size_bytes;
    sync::prefetch_to_write(place + kPrefetchBytes);
    header_.size_bytes += message_step(message.size_bytes);
    ++header_.message_count;
    return {place, message.size_bytes};
  }

  /// Fills in sequence and checksum, before the packet leaves the process.
  void seal(std::uint64_t sequence);
  /// A packet that came over a wire is all there, and the one that is due. Its size is plausible.
  [[nodiscard]] bool is_intact(std::uint64_t expected_sequence) const {
    return header_.magic == kPacketMagic && header_.sequence == expected_sequence &&
           computed_checksum() == header_.checksum;
  }
  /// Checks a packet of `received_bytes` that came over a wire; throws TransportError that names
  /// source, target and what is wrong.
  void verify(std::size_t received_bytes, std::uint64_t expected_sequence) const;

  Packet* next = nullptr;                       // list link; belongs to the holder of the packet
  PacketOwner* owner = nullptr;                 // told on the last release(); may be null
  std::size_t accounted_bytes = 0;              // what `owner` counts for this packet
  std::unique_ptr<PacketPieces> out_of_band{};  // of a message of many bytes; else nullptr
  /// Bytes beside the packet.
  [[nodiscard]] std::size_t piece_bytes() const {
    return out_of_band == nullptr ? 0 : out_of_band->size_bytes;
  }
  /// The pieces of the message, while they are on the way; else nullptr.
  [[nodiscard]] Pieces* pieces() const {
    return out_of_band == nullptr ? nullptr : out_of_band->pieces.get();
  }
  /// The bytes that the receiver acknowledges.
  [[nodiscard]] std::size_t window_bytes() const { return header_.size_bytes + piece_bytes(); }

  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

 private:
  explicit Packet(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  ~Packet() = default;
  [[nodiscard]] std::uint64_t computed_checksum() const;
  static TeamTag* tag_of(RunHeader* run) { return reinterpret_cast<TeamTag*>(run + 1); }
  /// `handler`: that of the run.
  static RunPrefix* prefix_of(RunHeader* run, std::uint32_t handler) {
    return reinterpret_cast<RunPrefix*>((handler & kTeamBit) == 0 ? run + 1 : run + 2);
  }
  static std::size_t header_bytes(const MessageHeader& message, const RunPrefix* prefix) {
    return sizeof(RunHeader) + ((message.handler & kTeamBit) == 0 ? 0 : sizeof(TeamTag)) +
           (prefix == nullptr ? 0 : sizeof(RunPrefix));
  }
  // By value: so the header of a message that continues a run stays in registers.
  [[gnu::noinline]] void start_run(MessageHeader message, const RunPrefix* prefix) {
    header_.size_bytes = align_up(header_.size_bytes);
    run_ = new (body() + header_.size_bytes) RunHeader(message);
    if ((message.handler & kTeamBit) != 0) new (tag_of(run_)) TeamTag{message.team, message.sender};
    if (prefix != nullptr) new (prefix_of(run_, message.handler)) RunPrefix(*prefix);
    header_.size_bytes += header_bytes(message, prefix);
  }

  std::atomic<int> references_{1};
  std::size_t capacity_bytes_;
  RunHeader* run_ = nullptr;  // the last one, in the messages; nullptr if they came from elsewhere
  alignas(kMessageAlign) PacketHeader header_{};
};

/// The pieces of a packet's message have arrived. Throws TransportError if they are damaged.
void open_pieces(Packet& packet, std::shared_ptr<Pieces> pieces);

struct ReleasePacket {
  void operator()(Packet* packet) const { packet->release(); }
};
/// Owns one reference.
using PacketHolder = std::unique_ptr<Packet, ReleasePacket>;

/// A FIFO of packets, linked through Packet::next. Owns them.
class PacketList {
 public:
  PacketList() = default;
  PacketList(PacketList&& other) noexcept = default;
  PacketList& operator=(PacketList&& other) noexcept {
    if (this != &other) {
      clear();
      packets_.append(other.packets_);
    }
    return *this;
  }
  ~PacketList() { clear(); }

  [[nodiscard]] bool empty() const { return packets_.empty(); }
  [[nodiscard]] Packet* front() const { return packets_.first(); }
  void push_back(Packet* packet) { packets_.push(*packet); }
  void append(PacketList&& other) { packets_.append(other.packets_); }
  /// Removes the first packet and returns it; nullptr if there is none.
  Packet* pop_front() { return packets_.pop(); }
  void clear() {
    while (Packet* packet = pop_front()) packet->release();
  }
  /// Frees all without a word to their owners, which are gone.
  void discard();

 private:
  sync::Fifo<Packet> packets_;
};

/// `number`: of the message on the lane from `source` to `target`, from 1. Unique in a run, except
/// links with more than 4 million messages in worlds of more than 1024 ranks.
[[nodiscard]] constexpr std::uint64_t trace_id(Rank source, Rank target, Lane lane,
                                               std::uint32_t number) {
  if (lane != Lane::normal) number += 1U << 31U;  // one lane but control is left
  const auto to = static_cast<std::uint32_t>(target.value());
  // From the 1024th rank on, numbers of targets repeat; their messages count from elsewhere.
  return trace::make_id(static_cast<std::uint32_t>(source.value()), to,
                        number + ((to >> 10U) << 22U));
}

/// Arguments that are not in the packet, which has a pointer to them: those that travel within the
/// process, so that they are copied at most once, and those that came from another one in pieces.
class ObjectMessage {
 public:
  ObjectMessage() = default;
  ObjectMessage(const ObjectMessage&) = default;
  ObjectMessage& operator=(const ObjectMessage&) = delete;
  virtual ~ObjectMessage() = default;
};

/// Bit of the pointer: the object is a ReceivedMessage.
inline constexpr std::uintptr_t kReceivedBit = 1;

[[nodiscard]] inline std::uintptr_t object_bits(const std::byte* place) {
  std::uintptr_t bits = 0;
  std::memcpy(&bits, place, sizeof bits);
  return bits;
}
[[nodiscard]] inline ObjectMessage* object_at(const std::byte* place) {
  return reinterpret_cast<ObjectMessage*>(object_bits(place) & ~kReceivedBit);
}
[[nodiscard]] inline bool is_received_at(const std::byte* place) {
  return (object_bits(place) & kReceivedBit) != 0;
}

}  // namespace shoal::net
