#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/net/pieces.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <utility>

namespace shoal::net {

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

namespace {

template <class Tag>
bool read_tag(std::span<const std::byte> messages, std::size_t& offset, Tag& tag) {
  if (messages.size() - offset < sizeof tag) return false;
  std::memcpy(&tag, messages.data() + offset, sizeof tag);
  offset += sizeof tag;
  return true;
}

bool read_tags(std::span<const std::byte> messages, std::size_t& offset, Run& run) {
  if ((run.handler & kTeamBit) != 0) {
    TeamTag tag;
    if (!read_tag(messages, offset, tag)) return false;
    run.team = tag.team;
    run.sender = tag.sender;
  }
  return (run.handler & kPrefixBit) == 0 || read_tag(messages, offset, run.prefix);
}

}  // namespace

bool read_run(std::span<const std::byte> messages, std::size_t& offset, Run& run) {
  const std::size_t at = align_up(offset);
  if (at > messages.size() || messages.size() - at < sizeof(RunHeader)) return false;
  std::memcpy(static_cast<RunHeader*>(&run), messages.data() + at, sizeof(RunHeader));
  offset = at + sizeof(RunHeader);
  run.team = 0;
  run.sender = 0;
  if ((run.handler & kTagBits) != 0 && !read_tags(messages, offset, run)) [[unlikely]]
    return false;
  return run.count > 0 && run.step() <= (messages.size() - offset) / run.count;
}

Packet* Packet::create(std::size_t capacity_bytes) {
  static_assert(sizeof(Packet) % kMessageAlign == 0, "messages start behind the object");
  void* memory = sync::take_block(sizeof(Packet) + capacity_bytes);
  auto* packet = new (memory) Packet(capacity_bytes);
  SHOAL_DCHECK(reinterpret_cast<std::byte*>(&packet->header_ + 1) == packet->body(),
               "header and messages are not contiguous");
  return packet;
}

Packet* Packet::compact(Packet* packet) {
  const std::size_t size_bytes = packet->header_.size_bytes;
  // If the caller's reference is the only one, no other thread can add any. acquire pairs with the
  // release of the former holders: their accesses to the packet, including disown(), come before
  // those here.
  const bool shared = packet->references_.load(std::memory_order_acquire) > 1;
  if (shared || 2 * size_bytes >= packet->capacity_bytes_) return packet;
  Packet* const copy = create(size_bytes);
  copy->header_ = packet->header_;
  std::memcpy(copy->body(), packet->body(), size_bytes);
  sync::pass_on(packet, copy);
  copy->owner = std::exchange(packet->owner, nullptr);
  copy->accounted_bytes = packet->accounted_bytes;
  if (packet->out_of_band != nullptr) {
    copy->out_of_band = std::make_unique<PacketPieces>();
    copy->out_of_band->size_bytes = packet->out_of_band->size_bytes;
  }
  packet->release();
  return copy;
}

void Packet::disown() {
  const sync::Quiet quiet;
  // acq_rel: several that hold a reference may do this at once, one of them tells.
  PacketOwner* const notified = std::atomic_ref(owner).exchange(nullptr, std::memory_order_acq_rel);
  if (notified != nullptr) notified->consumed(accounted_bytes);
}

void Packet::release() {
  const sync::Quiet quiet;
  // acq_rel: the last releaser sees the others' uses of the packet before it frees the packet.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  PacketOwner* const notified = owner;
  const std::size_t bytes = accounted_bytes;
  const std::size_t memory_bytes = sizeof(Packet) + capacity_bytes_;
  this->~Packet();
  sync::give_block(this, memory_bytes);
  if (notified != nullptr) notified->consumed(bytes);
}

std::uint64_t Packet::computed_checksum() const {
  static_assert(offsetof(PacketHeader, checksum) == 0);
  const std::size_t size = sizeof(PacketHeader) + header_.size_bytes;
  const auto* const begin = reinterpret_cast<const std::byte*>(&header_);
  return checksum_of({begin + sizeof header_.checksum, size - sizeof header_.checksum});
}

void Packet::seal(std::uint64_t sequence) {
  header_.magic = kPacketMagic;
  header_.sequence = sequence;
  header_.checksum = computed_checksum();
}

void Packet::verify(std::size_t received_bytes, std::uint64_t expected_sequence) const {
  const auto fail = [&](const std::string& what) {
    throw TransportError(
        fmt::format("corrupt packet from rank {} to rank {}: {}; the network or its driver damages "
                    "data, or two different builds of the program run together",
                    header_.source, header_.target, what));
  };
  if (received_bytes < sizeof(PacketHeader) || header_.magic != kPacketMagic) {
    fail(fmt::format("{} bytes that do not start with a packet header", received_bytes));
  }
  if (header_.size_bytes != received_bytes - sizeof(PacketHeader)) {
    fail(fmt::format("truncated: {} of {} bytes arrived", received_bytes,
                     header_.size_bytes + sizeof(PacketHeader)));
  }
  if (computed_checksum() != header_.checksum) {
    fail(fmt::format("checksum of {} bytes differs", header_.size_bytes));
  }
  if (header_.sequence != expected_sequence) {
    fail(fmt::format("packet {} arrived where {} was due", header_.sequence, expected_sequence));
  }
}

void PacketList::discard() {
  while (Packet* packet = pop_front()) {
    packet->owner = nullptr;
    // Of a message that came in pieces and that no one has handled.
    const PacketPieces* const out_of_band = packet->out_of_band.get();
    const bool has_object =
        out_of_band != nullptr && out_of_band->slot != 0 && out_of_band->pieces == nullptr;
    if (has_object) delete object_at(packet->body() + out_of_band->slot);
    packet->release();
  }
}

}  // namespace shoal::net
