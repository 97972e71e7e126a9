#pragma once
// The archives: one counts bytes, one writes them, one reads them. CanonicalArchive writes values
// that are compared and not sent.
//
// Format. A raw value is its bytes, at a multiple of its alignment (at most 16) from the start of
// the message. A range is a u64 count and its elements; raw elements form one aligned block.
// Padding is zero. Every element of a range takes at least one byte, so that a corrupt count is
// found by comparing it with the bytes that are left, before anything is allocated.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/net/pieces.hpp>
#include <shoal/detail/team/archive_traits.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace shoal {

namespace wire {

[[noreturn]] void throw_short_message(std::size_t offset, std::size_t wanted_bytes,
                                      std::size_t available_bytes);
[[noreturn]] void throw_bad_count(std::size_t offset, std::uint64_t count,
                                  std::size_t element_bytes, std::size_t available_bytes);
[[noreturn]] void throw_bad_value(std::size_t offset, const char* what, std::uint64_t value);
[[noreturn]] void throw_trailing_bytes(std::size_t consumed_bytes, std::size_t size_bytes);
[[noreturn]] void throw_size_mismatch(std::size_t written_bytes, std::size_t size_bytes);
[[noreturn]] void throw_misaligned(std::size_t alignment);

template <class Archive, class T>
constexpr void save(Archive& ar, const T& value);
template <class T>
void load_into(ReadArchive& ar, T& value);

/// Shared by SizeArchive and WriteArchive. Derived has put(data, size_bytes, alignment).
template <class Derived>
class Saver {
 public:
  static constexpr bool is_loading = false;
  static constexpr bool is_saving = true;

  template <class... Ts>
  constexpr Derived& operator()(const Ts&... values) {
    (wire::save(self(), values), ...);
    return self();
  }

  template <class T>
  constexpr Derived& operator&(const T& value) {
    wire::save(self(), value);
    return self();
  }

  /// Saves the elements as one aligned block, without their number. For serialize() of types that
  /// own a buffer; when loading, the same call fills the buffer.
  template <class T>
  constexpr void block(std::span<T> elements) {
    static_assert(is_raw_v<T>, "shoal: the elements of a block must be trivially copyable");
    self().put(elements.data(), elements.size_bytes(), raw_alignment_v<T>);
  }

  template <class T>
  constexpr void raw(const T& value) {
    self().put(&value, sizeof(T), raw_alignment_v<T>);
  }

  constexpr void count(std::size_t value) { raw(static_cast<std::uint64_t>(value)); }

 private:
  constexpr Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace wire

/// Counts the bytes that WriteArchive will need for the same values.
class SizeArchive : public wire::Saver<SizeArchive> {
 public:
  /// Bytes so far, counted from a start that is a multiple of 16.
  [[nodiscard]] constexpr std::size_t position() const { return position_; }

  /// Counts a block of bytes.
  constexpr void put(const void* /*data*/, std::size_t size_bytes, std::size_t alignment) {
    position_ = wire::align_up(position_, alignment) + size_bytes;
  }

 private:
  std::size_t position_ = 0;
};

/// Writes values into a buffer of exactly the size that SizeArchive counted for them.
/// Errors: CheckError when a serialize() writes more, or less, than it counted.
class WriteArchive : public wire::Saver<WriteArchive> {
 public:
  /// `bytes` outlives the archive and starts at a multiple of 16; if it is at most 8 long, of 8.
  explicit WriteArchive(std::span<std::byte> bytes) : data_(bytes.data()), size_(bytes.size()) {}

  /// Bytes so far.
  [[nodiscard]] std::size_t position() const { return position_; }

  /// Writes a block of bytes at a multiple of `alignment`.
  /// Inlined: a value of constant size takes a few stores then.
  SHOAL_ALWAYS_INLINE void put(const void* data, std::size_t size_bytes, std::size_t alignment) {
    const std::size_t begin = wire::align_up(position_, alignment);
    if (begin > size_ || size_bytes > size_ - begin) [[unlikely]] {
      wire::throw_size_mismatch(begin + size_bytes, size_);
    }
    for (; position_ != begin; ++position_) data_[position_] = std::byte{0};
    if (size_bytes != 0) std::memcpy(data_ + begin, data, size_bytes);
    position_ = begin + size_bytes;
  }

  /// Throws CheckError unless the buffer is full.
  void finish() const {
    if (position_ != size_) [[unlikely]]
      wire::throw_size_mismatch(position_, size_);
  }

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t position_ = 0;
};

namespace wire {

/// Writes values into memory of its own, in a form that is the same for equal values: elements of
/// unordered containers by their bytes. Not for ReadArchive.
class CanonicalArchive : public Saver<CanonicalArchive> {
 public:
  [[nodiscard]] std::size_t position() const { return bytes_.size(); }
  void put(const void* data, std::size_t size_bytes, std::size_t alignment) {
    bytes_.resize(align_up(bytes_.size(), alignment));
    const auto* const begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size_bytes);
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};
/// Saves encodings of elements in the order of their bytes.
void save_sorted(CanonicalArchive& ar, std::vector<std::vector<std::byte>> elements);

/// The bytes of an object, without those that it owns elsewhere.
template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return {reinterpret_cast<const std::byte*>(std::addressof(value)), sizeof value};
}

/// Counts the bytes of an encoding that are not in blocks of their own; see PieceArchive.
class PieceSizes : public Saver<PieceSizes> {
 public:
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t body_bytes() const { return body_bytes_; }
  void put(const void* /*data*/, std::size_t size_bytes, std::size_t alignment) {
    const std::size_t begin = align_up(position_, alignment);
    body_bytes_ += begin - position_;
    if (size_bytes >= net::kPieceBytes && blocks_ < net::kPiecesMax) {
      ++blocks_;
      body_bytes_ += max_alignment;  // to align what follows
    } else {
      body_bytes_ += size_bytes;
    }
    position_ = begin + size_bytes;
  }

 private:
  std::size_t position_ = 0;
  std::size_t body_bytes_ = 0;
  std::size_t blocks_ = 0;
};

/// Writes values as WriteArchive, but leaves large blocks where they are: the encoding refers to
/// the memory of the values. What a serialize() of the program writes is referred to if it is in
/// the value itself or in a member of the value, a vector say; else it is copied, since it may be
/// gone when that function returns.
class PieceArchive : public Saver<PieceArchive> {
 public:
  /// `sizes`: of the same values. `borrows`: the values outlive `pieces`; else all is copied.
  PieceArchive(net::Pieces& pieces, const PieceSizes& sizes, bool borrows)
      : pieces_(pieces), size_(sizes.position()), body_bytes_(sizes.body_bytes()), lives_(borrows) {
    pieces_.body = net::make_bytes(body_bytes_);
    pieces_.size_bytes = size_;
  }

  [[nodiscard]] std::size_t position() const { return position_; }
  void put(const void* data, std::size_t size_bytes, std::size_t alignment);
  /// Throws CheckError unless everything was written.
  void finish();

  /// While the program's code writes a value of `bytes`.
  class ByProgram {
   public:
    ByProgram(PieceArchive& archive, std::span<const std::byte> bytes)
        : archive_(archive),
          lived_(std::exchange(archive.lives_, false)),
          around_(std::exchange(archive.around_, lived_ ? bytes : std::span<const std::byte>())) {}
    ~ByProgram() {
      archive_.lives_ = lived_;
      archive_.around_ = around_;
    }
    ByProgram(const ByProgram&) = delete;
    ByProgram& operator=(const ByProgram&) = delete;

   private:
    PieceArchive& archive_;
    const bool lived_;
    const std::span<const std::byte> around_;
  };
  /// While an object of `bytes` is written, which may be a member of the program's value.
  class Object {
   public:
    Object(PieceArchive& archive, std::span<const std::byte> bytes)
        : archive_(archive), lived_(archive.lives_) {
      archive_.lives_ = archive_.outlives(bytes);
    }
    ~Object() { archive_.lives_ = lived_; }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

   private:
    PieceArchive& archive_;
    const bool lived_;
  };

 private:
  /// Whether these bytes outlive the pieces.
  [[nodiscard]] bool outlives(std::span<const std::byte> bytes) const {
    // std::less orders pointers into different objects, too.
    return lives_ || (!std::less<>()(bytes.data(), around_.data()) &&
                      !std::less<>()(around_.data() + around_.size(), bytes.data() + bytes.size()));
  }
  std::byte* body(std::size_t size_bytes);
  void close_body();

  net::Pieces& pieces_;
  const std::size_t size_;
  const std::size_t body_bytes_;
  bool lives_;                         // what is written now outlives the pieces
  std::span<const std::byte> around_;  // likewise, while serialize() of the program writes it
  std::size_t position_ = 0;
  std::size_t blocks_ = 0;
  std::size_t used_ = 0;         // of the body
  std::size_t piece_at_ = 0;     // where its current piece begins there,
  std::size_t piece_begin_ = 0;  // and in the encoding
};

}  // namespace wire

/// Reads values back in the order in which they were written.
/// Errors: DecodeError (offset, wanted, available) before a byte beyond the end is touched.
class ReadArchive {
 public:
  /// For serialize() functions: it fills the values.
  static constexpr bool is_loading = true;
  /// The opposite.
  static constexpr bool is_saving = false;

  /// Reads from `bytes`, which outlive the archive and every view taken from it.
  explicit ReadArchive(std::span<const std::byte> bytes)
      : data_(bytes.data()), size_(bytes.size()), total_(bytes.size()) {}
  /// @cond internals
  /// Reads from pieces. `is_owner`: no one else has them, so values may take over their memory.
  ReadArchive(net::Pieces& pieces, bool is_owner);
  /// @endcond

  /// Reads the values in this order.
  template <class... Ts>
  ReadArchive& operator()(Ts&... values) {
    (wire::load_into(*this, values), ...);
    return *this;
  }

  /// Reads one value.
  template <class T>
  ReadArchive& operator&(T& value) {
    wire::load_into(*this, value);
    return *this;
  }

  /// Bytes so far.
  [[nodiscard]] std::size_t position() const { return position_; }

  /// Bytes not yet read. A serialize() that allocates by a number it has just read compares first.
  [[nodiscard]] std::size_t remaining() const { return total_ - position_; }

  /// Fills `elements` from one aligned block; the counterpart of block() when saving.
  template <class T>
  void block(std::span<T> elements) {
    static_assert(wire::is_raw_v<T>, "shoal: the elements of a block must be trivially copyable");
    const std::byte* from = take(elements.size_bytes(), wire::raw_alignment_v<T>);
    if (!elements.empty()) std::memcpy(elements.data(), from, elements.size_bytes());
  }

  /// Reads a trivially copyable value.
  template <class T>
  [[nodiscard]] T raw() {
    // Not through a T variable: T need not have a default constructor.
    struct Bytes {
      alignas(T) std::byte bytes[sizeof(T)];
    } copy{};
    std::memcpy(&copy, take(sizeof(T), wire::raw_alignment_v<T>), sizeof(T));
    return std::bit_cast<T>(copy);
  }

  /// The number of elements of a range, each of which takes at least `element_bytes`.
  [[nodiscard]] std::size_t count(std::size_t element_bytes) {
    const auto value = raw<std::uint64_t>();
    if (value > remaining() / element_bytes) [[unlikely]] {
      wire::throw_bad_count(position_ - sizeof(value), value, element_bytes, remaining());
    }
    return static_cast<std::size_t>(value);
  }

  /// `count` elements where they lie. Lifetime: that of the message.
  template <class T>
  [[nodiscard]] std::span<const T> view(std::size_t count) {
    static_assert(alignof(T) <= wire::max_alignment,
                  "shoal: a std::span of a type aligned to more than 16 bytes cannot view a "
                  "message: take a std::vector instead");
    const std::byte* bytes = take(count * sizeof(T), alignof(T));
    if (std::bit_cast<std::uintptr_t>(bytes) % alignof(T) != 0) [[unlikely]] {
      wire::throw_misaligned(alignof(T));
    }
    return {reinterpret_cast<const T*>(bytes), count};
  }

  /// The next `size_bytes` bytes after padding.
  const std::byte* take(std::size_t size_bytes, std::size_t alignment) {
    const std::size_t begin = wire::align_up(position_, alignment);
    if (begin > size_ || size_bytes > size_ - begin) [[unlikely]]
      return take_beyond(size_bytes, alignment);
    position_ = begin + size_bytes;
    return data_ + begin;
  }

  /// The next `size_bytes` bytes, if they are a block with memory of its own: the caller owns that
  /// now, and frees it by `operator delete`. Else nullptr, and nothing is read.
  [[nodiscard]] std::byte* adopt(std::size_t size_bytes, std::size_t alignment) {
    return is_owner_ ? adopt_block(size_bytes, alignment) : nullptr;
  }

  /// @cond internals
  /// The next `size_bytes` bytes, at a multiple of max_alignment, as an encoding of their own;
  /// nullptr, and nothing is read, if this is not one in pieces.
  [[nodiscard]] std::shared_ptr<net::Pieces> take_pieces(std::size_t size_bytes);
  /// @endcond

  /// Throws DecodeError unless every byte was read.
  void finish() const {
    if (position_ != total_) [[unlikely]]
      wire::throw_trailing_bytes(position_, total_);
  }

 private:
  // Behind the end of the current piece, or of the message.
  const std::byte* take_beyond(std::size_t size_bytes, std::size_t alignment);
  std::byte* adopt_block(std::size_t size_bytes, std::size_t alignment);
  void enter(std::size_t index);

  const std::byte* data_;     // where the encoding would begin if all of it were there
  std::size_t size_;          // the end of the current piece
  std::size_t total_;         // of the encoding
  std::size_t position_ = 0;  // invariant: position_ <= size_
  net::Pieces* pieces_ = nullptr;
  std::size_t index_ = 0;  // of the current piece
  bool is_owner_ = false;
};

namespace wire {

/// Types with a serialize() of their own, in the spellings of cereal and Boost.Serialization.
template <class T>
struct Codec {
  template <class Archive>
  static constexpr void call(Archive& ar, T& value) {
    static_cast<void>(TravelCheck<T>{});
    if constexpr (Access::has_member<Archive, T>) {
      Access::call_member(ar, value);
    } else if constexpr (Access::has_versioned_member<Archive, T>) {
      Access::call_versioned_member(ar, value);
    } else if constexpr (FreeSerialize<Archive, T>) {
      serialize(ar, value);
    } else if constexpr (FreeVersionedSerialize<Archive, T>) {
      serialize(ar, value, 0U);
    }
  }

  template <class Archive>
  static constexpr void save(Archive& ar, const T& value) {
    // One serialize() serves both directions, so it is not const; when saving it only reads.
    if constexpr (std::is_same_v<Archive, PieceArchive>) {
      save_by_program(ar, value);
    } else {
      call(ar, const_cast<T&>(value));
    }
  }

  static void load_into(ReadArchive& ar, T& value) { call(ar, value); }

 private:
  static void save_by_program(PieceArchive& ar, const T& value) {
    const PieceArchive::ByProgram program(ar, bytes_of(value));
    call(ar, const_cast<T&>(value));
  }
};

template <class T>
concept LoadsInPlace = requires(ReadArchive& ar, T& value) { Codec<T>::load_into(ar, value); };

template <class T>
void save_object(PieceArchive& ar, const T& value) {
  const PieceArchive::Object object(ar, bytes_of(value));
  Codec<T>::save(ar, value);
}

template <class Archive, class T>
constexpr void save(Archive& ar, const T& value) {
  if constexpr (is_raw_v<T>) {
    ar.raw(value);
  } else if constexpr (std::is_same_v<Archive, PieceArchive>) {
    save_object(ar, value);
  } else {
    Codec<T>::save(ar, value);
  }
}

/// Makes a T from the message.
template <class T>
T load(ReadArchive& ar) {
  if constexpr (is_raw_v<T>) {
    return ar.raw<T>();
  } else if constexpr (LoadsInPlace<T>) {
    static_assert(Access::is_default_constructible<T>,
                  "shoal: type T cannot be received: give it a default constructor (it may be "
                  "private, with `friend class shoal::Access`)");
    T value = Access::construct<T>();
    Codec<T>::load_into(ar, value);
    return value;
  } else {
    return Codec<T>::load(ar);
  }
}

template <class T>
void load_into(ReadArchive& ar, T& value) {
  static_assert(!std::is_const_v<T>, "shoal: cannot load into a const object");
  if constexpr (is_raw_v<T>) {
    std::memcpy(&value, ar.take(sizeof(T), raw_alignment_v<T>), sizeof(T));
  } else if constexpr (LoadsInPlace<T>) {
    Codec<T>::load_into(ar, value);
  } else {
    value = Codec<T>::load(ar);
  }
}

}  // namespace wire

}  // namespace shoal
