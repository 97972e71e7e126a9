#pragma once
// Messages of many bytes: their encoding lies in several places and is not copied into a packet.

#include <shoal/detail/net/packet.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace shoal::net {

/// Messages whose encoding is as long as this travel in pieces, and so do values within them.
inline constexpr std::size_t kPieceBytes = 16UL << 10U;
/// Values of one message that travel apart, at most; further ones travel together.
inline constexpr std::size_t kPiecesMax = 16;

struct FreeBytes {
  void operator()(std::byte* bytes) const { ::operator delete(bytes); }
};
/// Memory of exactly the size that was asked for, from ::operator new, not filled.
using Bytes = std::unique_ptr<std::byte, FreeBytes>;
[[nodiscard]] inline Bytes make_bytes(std::size_t size_bytes) {
  return Bytes(static_cast<std::byte*>(::operator new(size_bytes)));
}

/// A part of an encoding.
struct Piece {
  std::uint64_t begin = 0;           // offset in the encoding
  std::span<const std::byte> bytes;  // not empty
  bool is_block = false;             // one value, or the elements of one
  Bytes owned;                       // the memory of `bytes`, and no more; else it is elsewhere

  /// Travels with a transfer of its own.
  [[nodiscard]] bool is_separate() const { return bytes.size() >= kPieceBytes; }
};

/// Memory of values that were read across pieces.
class JoinedValues {
 public:
  JoinedValues() = default;
  JoinedValues(const JoinedValues&) = delete;
  JoinedValues& operator=(const JoinedValues&) = delete;
  ~JoinedValues();
  /// Returns memory that starts at a multiple of kMessageAlign. **Caller**: any thread.
  [[nodiscard]] std::byte* add(std::size_t size_bytes);

 private:
  struct Block;
  std::atomic<Block*> last_{nullptr};  // release in add(): its memory is there
};

/// The encoding of one message.
class Pieces : public std::enable_shared_from_this<Pieces> {
 public:
  Pieces() = default;
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  /// A copy, as it arrives elsewhere.
  [[nodiscard]] std::shared_ptr<Pieces> copy() const;
  /// A part of the encoding as one of its own, which keeps this one. `begin` is a multiple of
  /// kMessageAlign.
  [[nodiscard]] std::shared_ptr<Pieces> part(std::uint64_t begin, std::size_t size_bytes) const;
  [[nodiscard]] std::uint64_t computed_checksum() const;
  void add_checksum() {
    checked = 1;
    checksum = computed_checksum();
  }
  /// Throws TransportError if the bytes do not have the sender's checksum.
  void verify(int source, int target) const;

  std::vector<Piece> list;  // in the order of the encoding, without gaps
  std::size_t size_bytes = 0;
  std::uint32_t checked = 0;  // 1: `checksum` is that of the sender
  std::uint64_t checksum = 0;
  Bytes body;                             // memory of pieces that own none
  std::unique_ptr<ObjectMessage> source;  // owns the memory of others, on the sender
  std::shared_ptr<const Pieces> whole{};  // which this is a part of
  JoinedValues joined;                    // several readers may add to it
};

/// Gives a piece memory of its own, to receive `size_bytes` in, and returns it.
[[nodiscard]] std::span<std::byte> make_place(Piece& piece, std::size_t size_bytes);
/// Where a piece goes in a buffer of several, at `at` or behind: aligned as in the encoding.
[[nodiscard]] std::size_t body_place(std::size_t at, const Piece& piece);

/// Arguments that came in pieces, as an object of their message.
class ReceivedMessage final : public ObjectMessage {
 public:
  explicit ReceivedMessage(std::shared_ptr<Pieces> pieces) : pieces_(std::move(pieces)) {}
  [[nodiscard]] const std::shared_ptr<Pieces>& pieces() const { return pieces_; }

 private:
  std::shared_ptr<Pieces> pieces_;
};

}  // namespace shoal::net
