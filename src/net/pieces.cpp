#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/net/pieces.hpp>
#include <shoal/error.hpp>

#include "env/freed_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace shoal::net {

namespace {

/// The first place from `at` on that is aligned as offset `begin` of an encoding.
std::size_t place_like(std::size_t at, std::uint64_t begin) {
  return at + (begin - at) % kMessageAlign;
}

}  // namespace

std::size_t body_place(std::size_t at, const Piece& piece) { return place_like(at, piece.begin); }

std::span<std::byte> make_place(Piece& piece, std::size_t size_bytes) {
  const std::size_t before = piece.is_block ? 0 : place_like(0, piece.begin);
  piece.owned = make_bytes(before + size_bytes);
  env::prefer_huge_pages(piece.owned.get(), before + size_bytes);
  const std::span<std::byte> place(piece.owned.get() + before, size_bytes);
  piece.bytes = place;
  return place;
}

struct alignas(kMessageAlign) JoinedValues::Block {
  Block* before;  // the memory is behind it
};

JoinedValues::~JoinedValues() {
  for (Block* block = last_.load(std::memory_order_acquire); block != nullptr;) {
    ::operator delete(std::exchange(block, block->before));
  }
}

std::byte* JoinedValues::add(std::size_t size_bytes) {
  auto* const block =
      new (::operator new(sizeof(Block) + size_bytes)) Block{last_.load(std::memory_order_relaxed)};
  while (!last_.compare_exchange_weak(block->before, block, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
  return reinterpret_cast<std::byte*>(block + 1);
}

std::shared_ptr<Pieces> Pieces::part(std::uint64_t begin, std::size_t size_bytes) const {
  auto part = std::make_shared<Pieces>();
  part->size_bytes = size_bytes;
  part->whole = shared_from_this();
  for (const Piece& piece : list) {
    const std::uint64_t from = std::max(piece.begin, begin);
    const std::uint64_t to = std::min(piece.begin + piece.bytes.size(), begin + size_bytes);
    if (from >= to) continue;
    Piece& taken = part->list.emplace_back();
    taken.begin = from - begin;
    taken.bytes = piece.bytes.subspan(from - piece.begin, to - from);
    taken.is_block = piece.is_block && taken.bytes.size() == piece.bytes.size();
  }
  return part;
}

std::shared_ptr<Pieces> Pieces::copy() const {
  auto copy = std::make_shared<Pieces>();
  copy->size_bytes = size_bytes;
  copy->checked = checked;
  copy->checksum = checksum;
  for (const Piece& piece : list) {
    Piece& to = copy->list.emplace_back();
    to.begin = piece.begin;
    to.is_block = piece.is_block;
    std::memcpy(make_place(to, piece.bytes.size()).data(), piece.bytes.data(), piece.bytes.size());
  }
  return copy;
}

std::uint64_t Pieces::computed_checksum() const {
  std::uint64_t sum = 0;
  for (const Piece& piece : list) sum = sum * 31 + checksum_of(piece.bytes);
  return sum;
}

void Pieces::verify(int source, int target) const {
  if (checked == 0 || computed_checksum() == checksum) return;
  throw TransportError(
      fmt::format("corrupt packet from rank {} to rank {}: checksum of {} bytes differs; the "
                  "network or its driver damages data",
                  source, target, size_bytes));
}

void open_pieces(Packet& packet, std::shared_ptr<Pieces> pieces) {
  pieces->verify(packet.header().source, packet.header().target);
  packet.out_of_band->size_bytes = pieces->size_bytes;
  std::byte* const place = packet.body() + packet.out_of_band->slot;
  auto* const object = new ReceivedMessage(std::move(pieces));
  const std::uintptr_t bits =
      reinterpret_cast<std::uintptr_t>(static_cast<ObjectMessage*>(object)) | kReceivedBit;
  std::memcpy(place, &bits, sizeof bits);
}

}  // namespace shoal::net
