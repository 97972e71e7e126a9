#pragma once
// Arguments of messages to bytes and back: views among them, pieces, and the signature of their
// types.

#include <shoal/detail/team/archive_std.hpp>

namespace shoal {

namespace wire {

/// Codec of views: a view is encoded in the format of the container of its elements.
template <class T>
struct ViewCodec;

template <class T, std::size_t Extent>
struct ViewCodec<std::span<T, Extent>> {
  static_assert(
      is_raw_v<T>,
      "shoal: the elements of a std::span in a message must be trivially copyable: send a "
      "std::vector instead");

  template <class Archive>
  static constexpr void save(Archive& ar, std::span<T, Extent> value) {
    ar.count(value.size());
    ar.block(std::span<T>(value));
  }

  static std::span<T, Extent> load(ReadArchive& ar) {
    static_assert(std::is_const_v<T>,
                  "shoal: a received std::span views the message, which must not change: take a "
                  "std::span<const T> or a std::vector<T>");
    const std::size_t offset = ar.position();
    const std::size_t count = ar.count(sizeof(T));
    if (Extent != std::dynamic_extent && count != Extent) {
      throw_bad_value(offset, "size of a std::span of fixed extent", count);
    }
    const auto view = ar.view<std::remove_const_t<T>>(count);
    return std::span<T, Extent>(const_cast<std::remove_const_t<T>*>(view.data()), view.size());
  }
};

template <class Char, class Traits>
struct ViewCodec<std::basic_string_view<Char, Traits>> {
  template <class Archive>
  static constexpr void save(Archive& ar, std::basic_string_view<Char, Traits> value) {
    ar.count(value.size());
    ar.block(std::span(value.data(), value.size()));
    if (sent_length<Char>(value.size()) != value.size()) ar.raw(Char{});
  }

  static std::basic_string_view<Char, Traits> load(ReadArchive& ar) {
    const std::size_t length = ar.count(sizeof(Char));
    const auto view = ar.view<Char>(length);
    if (sent_length<Char>(length) != length) static_cast<void>(ar.raw<Char>());
    return {view.data(), view.size()};
  }
};

template <class Archive, class T>
constexpr void save_argument(Archive& ar, const T& value) {
  if constexpr (is_view_v<T>) {
    ViewCodec<T>::save(ar, value);
  } else {
    wire::save(ar, value);
  }
}

template <class T>
T load_argument(ReadArchive& ar) {
  if constexpr (is_view_v<T>) {
    return ViewCodec<T>::load(ar);
  } else {
    return wire::load<T>(ar);
  }
}

constexpr std::uint32_t fnv1a(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return hash;
}

/// Returns bytes that are the same for equal values, whatever the order in which an unordered
/// container has its elements.
template <class T>
std::vector<std::byte> canonical(const T& value) {
  CanonicalArchive ar;
  wire::save(ar, value);
  return ar.take();
}

}  // namespace wire

/// Reads the values of an encoding in pieces, as decode(). `is_owner`: the caller is the only owner
/// of the pieces, so that vectors take over their memory. **Lifetime**: views are valid as long as
/// the pieces.
template <class... Ts>
std::tuple<Ts...> decode_pieces(net::Pieces& pieces, bool is_owner) {
  ReadArchive ar(pieces, is_owner);
  std::tuple<Ts...> values{wire::load_argument<Ts>(ar)...};
  ar.finish();
  return values;
}

/// A number that differs between different lists of types. Equal lists agree within one binary;
/// between binaries and compilers the numbers mean nothing.
template <class... Ts>
consteval std::uint32_t type_signature() {
  return wire::fnv1a(naming::spelled_list<Ts...>());
}

}  // namespace shoal
