#pragma once
// How the types of a program travel: serialize(), and the archives that it is called with.

#include <shoal/detail/team/archive_std.hpp>

#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

namespace shoal {

/// Argument of the serialize() of a type of the program. Trivially copyable types and those of the
/// standard library travel without one: in messages, calls, events, values of flows and graphs,
/// objects and collective operations. Every other type needs one, written as for cereal or
/// Boost.Serialization:
///
///     template <class A> void serialize(A& archive);                     // a member
///     template <class A> void serialize(A& archive, unsigned version);   // a member; version 0
///     template <class A> void serialize(A& archive, T& value);           // beside the type T
///     template <class A> void serialize(A& archive, T& value, unsigned version);
///
/// One function saves and loads: it names the same members in the same order, as `archive(a, b)` or
/// `archive & a & b`. A value is loaded into one that the default constructor has made. A class
/// that says `friend class shoal::Access;` may keep both private.
///
/// - `A::is_loading` and `A::is_saving` are constants: whether it loads, or saves.
/// - `archive.block(std::span(elements))` saves or fills trivially copyable elements, without their
///   number, for a type that owns a buffer. They are copied. A std::vector or std::string among the
///   members needs no such call, and takes over the memory of many elements.
/// - `archive.remaining()`, when it loads, is the number of bytes left. A serialize() that
///   allocates by a number that it has loaded compares it first, and throws DecodeError.
///
/// **Caller**: the sender, several times for one value, to count its bytes and to save them; the
/// receiver once. **Blocks**: must not. **Errors**: CheckError at the sender if it saves more or
/// fewer bytes than it did before; DecodeError at the receiver, before it reads beyond the message.
template <class A>
concept Archive = requires(A& archive, int& value, std::span<int> elements) {
  requires A::is_loading != A::is_saving;
  archive(value, value);
  archive& value;
  archive.block(elements);
};

/// Returns the number of bytes that encode() needs for these values, from an address that is a
/// multiple of 16. With explicit types the values are converted first:
/// `encoded_size<std::span<const double>>(vector)`. Cost: a constant when all types are trivially
/// copyable; else one pass over the values.
template <class... Ts>
constexpr std::size_t encoded_size(const Ts&... values) {
  if constexpr ((wire::is_raw_v<Ts> && ...)) {
    return wire::fixed_size_bytes<Ts...>();
  } else {
    SizeArchive ar;
    (wire::save_argument(ar, values), ...);
    return ar.position();
  }
}

/// Writes the values into `bytes`, which starts at a multiple of 16 and has encoded_size(values...)
/// bytes. Errors: CheckError when the size differs; exceptions of a serialize() of the program.
template <class... Ts>
void encode(std::span<std::byte> bytes, const Ts&... values) {
  if constexpr ((wire::is_raw_v<Ts> && ...)) {
    // The size is now a constant, so that the checks inside the archive fold away.
    constexpr std::size_t size_bytes = wire::fixed_size_bytes<Ts...>();
    if (bytes.size() != size_bytes) [[unlikely]] {
      wire::throw_size_mismatch(size_bytes, bytes.size());
    }
    WriteArchive ar(bytes.template first<size_bytes>());
    (ar.put(&values, sizeof(Ts), wire::raw_alignment_v<Ts>), ...);
  } else {
    WriteArchive ar(bytes);
    (wire::save_argument(ar, values), ...);
    ar.finish();
  }
}

/// Returns the bytes that encode() writes for these values. **Errors**: exceptions of a serialize()
/// of the program.
template <class... Ts>
std::vector<std::byte> encoded(const Ts&... values) {
  std::vector<std::byte> bytes(encoded_size<Ts...>(values...));
  encode<Ts...>(std::span(bytes), values...);
  return bytes;
}

/// Reads the values that encode() wrote, which take up all of `bytes`. Values of type
/// std::span<const T> and std::string_view are views into `bytes`, which starts at a multiple of
/// 16; every other type owns its value. Errors: DecodeError when `bytes` is too short, too long or
/// holds an impossible value. Lifetime: views are valid as long as `bytes`.
template <class... Ts>
std::tuple<Ts...> decode(std::span<const std::byte> bytes) {
  if constexpr ((wire::is_raw_v<Ts> && ...)) {
    constexpr std::size_t size_bytes = wire::fixed_size_bytes<Ts...>();
    if (bytes.size() < size_bytes) [[unlikely]] {
      wire::throw_short_message(0, size_bytes, bytes.size());
    }
    if (bytes.size() > size_bytes) [[unlikely]] {
      wire::throw_trailing_bytes(size_bytes, bytes.size());
    }
    [[maybe_unused]] ReadArchive ar(bytes.template first<size_bytes>());
    return std::tuple<Ts...>{ar.template raw<Ts>()...};
  } else {
    ReadArchive ar(bytes);
    std::tuple<Ts...> values{wire::load_argument<Ts>(ar)...};
    ar.finish();
    return values;
  }
}

}  // namespace shoal
