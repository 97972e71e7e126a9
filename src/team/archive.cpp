#include <shoal/detail/team/archive_std.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string_view>

namespace shoal {

ReadArchive::ReadArchive(net::Pieces& pieces, bool is_owner)
    : data_(nullptr), size_(0), total_(pieces.size_bytes), pieces_(&pieces), is_owner_(is_owner) {
  enter(0);
}

void ReadArchive::enter(std::size_t index) {
  const net::Piece& piece = pieces_->list[index];
  index_ = index;
  // Not by arithmetic of pointers: this one may point anywhere.
  data_ = reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(piece.bytes.data()) -
                                             piece.begin);
  size_ = piece.begin + piece.bytes.size();
}

const std::byte* ReadArchive::take_beyond(std::size_t size_bytes, std::size_t alignment) {
  const std::size_t begin = wire::align_up(position_, alignment);
  if (begin > total_ || size_bytes > total_ - begin) {
    wire::throw_short_message(position_, size_bytes, remaining());
  }
  while (begin >= size_ && index_ + 1 < pieces_->list.size()) enter(index_ + 1);
  if (size_bytes <= size_ - begin) {
    position_ = begin + size_bytes;
    return data_ + begin;
  }
  // A value that the sender wrote as several.
  std::byte* const joined =
      pieces_->joined.add(size_bytes + wire::max_alignment) + begin % wire::max_alignment;
  for (position_ = begin; position_ < begin + size_bytes;) {
    if (position_ == size_) enter(index_ + 1);
    const std::size_t some = std::min(size_, begin + size_bytes) - position_;
    std::memcpy(joined + (position_ - begin), data_ + position_, some);
    position_ += some;
  }
  return joined;
}

std::shared_ptr<net::Pieces> ReadArchive::take_pieces(std::size_t size_bytes) {
  const std::size_t begin = wire::align_up(position_, wire::max_alignment);
  if (begin > total_ || size_bytes > total_ - begin) {
    wire::throw_short_message(position_, size_bytes, remaining());
  }
  if (pieces_ == nullptr) return nullptr;
  position_ = begin + size_bytes;
  while (position_ > size_) enter(index_ + 1);
  return pieces_->part(begin, size_bytes);
}

std::byte* ReadArchive::adopt_block(std::size_t size_bytes, std::size_t alignment) {
  const std::size_t begin = wire::align_up(position_, alignment);
  while (begin >= size_ && index_ + 1 < pieces_->list.size()) enter(index_ + 1);
  net::Piece& piece = pieces_->list[index_];
  if (piece.begin != begin || piece.bytes.size() != size_bytes || !piece.is_block ||
      piece.owned == nullptr) {
    return nullptr;
  }
  position_ = size_;
  return piece.owned.release();
}

namespace wire {

namespace {

#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI
/// The private members of std::string that take over memory. Explicit instantiations may name them.
struct StringParts {
  using Size = std::string::size_type;
  friend void set_parts(StringParts parts, std::string& string, char* data, Size length);
};
template <void (std::string::*Data)(char*), void (std::string::*Capacity)(std::string::size_type),
          void (std::string::*Length)(std::string::size_type)>
struct SetParts {
  friend void set_parts(StringParts /*parts*/, std::string& string, char* data,
                        std::string::size_type length) {
    (string.*Data)(data);
    (string.*Capacity)(length);
    (string.*Length)(length);  // and the zero behind it
  }
};
template struct SetParts<&std::string::_M_data, &std::string::_M_capacity,
                         &std::string::_M_set_length>;
#endif

}  // namespace

std::string adopted_string([[maybe_unused]] std::byte* bytes,
                           [[maybe_unused]] std::size_t length) noexcept {
  std::string string;
#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI
  set_parts(StringParts{}, string, reinterpret_cast<char*>(bytes), length);
#endif
  return string;
}

void PieceArchive::put(const void* data, std::size_t size_bytes, std::size_t alignment) {
  const std::size_t begin = align_up(position_, alignment);
  if (begin > size_ || size_bytes > size_ - begin) throw_size_mismatch(begin + size_bytes, size_);
  if (begin != position_) {
    const std::size_t padding = begin - position_;
    std::fill_n(body(padding), padding, std::byte{0});
    position_ = begin;
  }
  if (size_bytes == 0) return;
  if (size_bytes < net::kPieceBytes || blocks_ == net::kPiecesMax) {
    std::memcpy(body(size_bytes), data, size_bytes);
    position_ += size_bytes;
    return;
  }
  close_body();
  ++blocks_;
  net::Piece& piece = pieces_.list.emplace_back();
  piece.begin = begin;
  piece.is_block = true;
  piece.bytes = {static_cast<const std::byte*>(data), size_bytes};
  if (!outlives(piece.bytes)) {
    std::memcpy(net::make_place(piece, size_bytes).data(), data, size_bytes);
  }
  position_ += size_bytes;
}

// Room at the end of the body, for what stands at position_.
std::byte* PieceArchive::body(std::size_t size_bytes) {
  if (used_ == piece_at_) {
    used_ += (position_ - used_) % max_alignment;
    piece_at_ = used_;
    piece_begin_ = position_;
  }
  if (used_ + size_bytes > body_bytes_) throw_size_mismatch(position_ + size_bytes, size_);
  std::byte* const place = pieces_.body.get() + used_;
  used_ += size_bytes;
  return place;
}

void PieceArchive::close_body() {
  if (used_ == piece_at_) return;
  net::Piece& piece = pieces_.list.emplace_back();
  piece.begin = piece_begin_;
  piece.bytes = {pieces_.body.get() + piece_at_, used_ - piece_at_};
  piece_at_ = used_;
}

void PieceArchive::finish() {
  close_body();
  if (position_ != size_) throw_size_mismatch(position_, size_);
}

}  // namespace wire

}  // namespace shoal

namespace shoal::wire {

void throw_short_message(std::size_t offset, std::size_t wanted_bytes,
                         std::size_t available_bytes) {
  throw DecodeError(
      fmt::format("message is truncated or corrupt: at offset {} wanted {} bytes, {} available",
                  offset, wanted_bytes, available_bytes));
}

void throw_bad_count(std::size_t offset, std::uint64_t count, std::size_t element_bytes,
                     std::size_t available_bytes) {
  throw DecodeError(
      fmt::format("message is truncated or corrupt: at offset {} wanted {} elements of at least {} "
                  "bytes, {} bytes available",
                  offset, count, element_bytes, available_bytes));
}

void throw_bad_value(std::size_t offset, const char* what, std::uint64_t value) {
  throw DecodeError(
      fmt::format("message is corrupt: at offset {} the {} is {}", offset, what, value));
}

void throw_trailing_bytes(std::size_t consumed_bytes, std::size_t size_bytes) {
  throw DecodeError(
      fmt::format("message is corrupt: at offset {} wanted the end, {} bytes available",
                  consumed_bytes, size_bytes - consumed_bytes));
}

void throw_size_mismatch(std::size_t written_bytes, std::size_t size_bytes) {
  throw CheckError(
      fmt::format("a message of {} bytes was given {} bytes to write: serialize() must write the "
                  "same values each time it is called on an unchanged object",
                  size_bytes, written_bytes));
}

void save_sorted(CanonicalArchive& ar, std::vector<std::vector<std::byte>> elements) {
  // As text: gcc 12 warns of comparisons of vectors of bytes.
  std::ranges::sort(elements, {}, [](const std::vector<std::byte>& element) {
    return std::string_view(reinterpret_cast<const char*>(element.data()), element.size());
  });
  ar.count(elements.size());
  for (const std::vector<std::byte>& element : elements) {
    ar.count(element.size());
    ar.block(std::span(element));
  }
}

void throw_misaligned(std::size_t alignment) {
  throw CheckError(
      fmt::format("a view into a message that is not aligned to {} bytes: messages must start at a "
                  "multiple of {}",
                  alignment, max_alignment));
}

}  // namespace shoal::wire
