#pragma once
// Keys of task graphs: their hash and their text.

#include <shoal/detail/base/check.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shoal {

namespace detail {

/// Text that `write` puts into a stream.
std::string streamed(const void* key, void (*write)(std::ostream& out, const void* key));
/// Text in place of a key that cannot be printed.
std::string text_of_hash(std::uint64_t hash);

template <class K>
concept IntegerKey = std::is_integral_v<K> || std::is_enum_v<K>;
template <class K>
concept StringKey = std::same_as<K, std::string> || std::same_as<K, std::string_view>;
template <class K>
concept HasShoalHash = requires(const K& key) {
  { shoal_hash(key) } -> std::convertible_to<std::uint64_t>;
};
template <class K>
concept HasStdHash = requires(const K& key) {
  { std::hash<K>{}(key) } -> std::convertible_to<std::size_t>;
};

template <class K>
struct IsTupleKey : std::false_type {};
template <class A, class B>
struct IsTupleKey<std::pair<A, B>> : std::true_type {};
template <class... Ts>
struct IsTupleKey<std::tuple<Ts...>> : std::true_type {};
template <class T, std::size_t N>
struct IsTupleKey<std::array<T, N>> : std::true_type {};

template <class K>
struct IsHashable : std::bool_constant<IntegerKey<K> || HasShoalHash<K> || HasStdHash<K>> {};
template <class A, class B>
struct IsHashable<std::pair<A, B>>
    : std::bool_constant<IsHashable<A>::value && IsHashable<B>::value> {};
template <class... Ts>
struct IsHashable<std::tuple<Ts...>> : std::bool_constant<(IsHashable<Ts>::value && ...)> {};
template <class T, std::size_t N>
struct IsHashable<std::array<T, N>> : IsHashable<T> {};

/// A bijection under which every input bit moves about half of the output bits (the finalizer of
/// splitmix64, variant 13 of Stafford's mixers).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// The two halves of a product of 128 bits in one: one multiplication after which every bit depends
/// on all of `x`.
constexpr std::uint64_t fold64(std::uint64_t x) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{x} * 0x9fb21c651e98df25U;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

/// Hash of a key of several parts: their sum, each times an odd number of its own, folded once. The
/// multiplications run side by side, which matters for keys of a few integers.
template <std::size_t... I, class... Bits>
constexpr std::uint64_t hash_parts(std::index_sequence<I...> /*indices*/, Bits... bits) {
  std::uint64_t sum = (sizeof...(bits) + 1) * 0x9e3779b97f4a7c15U;
  ((sum += bits * std::integral_constant<std::uint64_t, mix64(I + 1) | 1U>::value), ...);
  return fold64(sum);
}

}  // namespace detail

/// A type that can be hashed and compared: it can be the key of a task graph.
template <class K>
concept HashableKey = detail::IsHashable<K>::value && std::equality_comparable<K>;

/// Hash of a key: 64 bits, each of which depends on all of the key, so that any of them may choose
/// a slot or a shard. K is an integer, enum or string; a pair, tuple or array of keys; or a type
/// with `std::uint64_t shoal_hash(const K&)` beside it or with std::hash<K>, in this order. The
/// hash is the same on all ranks that run one binary, if that of the program's own types is.
template <class K>
struct KeyHash {
  static_assert(detail::IsHashable<K>::value,
                "shoal: a key of this type cannot be hashed: define std::uint64_t "
                "shoal_hash(const K&) in the namespace of K, or specialize std::hash<K>");
  static_assert(!std::is_same_v<K, const char*> && !std::is_same_v<K, char*>,
                "shoal: a key of type const char* compares addresses: use std::string");

  /// The hash of `key`.
  [[nodiscard]] constexpr std::uint64_t operator()(const K& key) const {
    if constexpr (detail::IsTupleKey<K>::value) {
      return std::apply(
          [](const auto&... parts) {
            return detail::hash_parts(std::index_sequence_for<decltype(parts)...>(),
                                      bits_of(parts)...);
          },
          key);
    } else {
      return detail::hash_parts(std::index_sequence<0>(), bits_of(key));
    }
  }

 private:
  /// Numbers that differ for different keys as far as possible; hash_parts() mixes them.
  template <class Part>
  static constexpr std::uint64_t bits_of(const Part& part) {
    if constexpr (detail::IntegerKey<Part>) {
      return static_cast<std::uint64_t>(part);
    } else if constexpr (detail::IsTupleKey<Part>::value) {
      return KeyHash<Part>{}(part);
    } else if constexpr (detail::HasShoalHash<Part>) {
      return static_cast<std::uint64_t>(shoal_hash(part));
    } else if constexpr (detail::HasStdHash<Part>) {
      return static_cast<std::uint64_t>(std::hash<Part>{}(part));
    } else {
      return 0;  // refused by the static_assert above
    }
  }
};

/// @cond internals
/// Whether two keys are equal; for arrays element by element, in line: they are short.
template <class K>
constexpr bool key_equal(const K& a, const K& b) {
  return a == b;
}
template <class T, std::size_t N>
constexpr bool key_equal(const std::array<T, N>& a, const std::array<T, N>& b) {
  for (std::size_t i = 0; i < N; ++i) {
    if (!key_equal(a[i], b[i])) return false;
  }
  return true;
}
/// @endcond

/// Returns the text of a key for reports: "7", "(1, 2, 3)", "\"panel\"". For types of the program
/// it calls a to_string() or an operator<< that argument-dependent lookup finds; for others it
/// writes the hash.
template <class K>
std::string format_key(const K& key) {
  if constexpr (detail::StringKey<K>) {
    return detail::format_text("\"{}\"", key);
  } else if constexpr (detail::IsTupleKey<K>::value) {
    std::string text = "(";
    std::apply(
        [&text]([[maybe_unused]] const auto&... parts) {
          [[maybe_unused]] const char* separator = "";
          ((text += separator, text += format_key(parts), separator = ", "), ...);
        },
        key);
    return text + ")";
  } else if constexpr (std::is_same_v<K, signed char> || std::is_same_v<K, unsigned char> ||
                       std::is_same_v<K, std::byte>) {
    return detail::format_text("{}", static_cast<int>(key));
  } else if constexpr (std::is_arithmetic_v<K>) {
    return detail::format_text("{}", key);
  } else if constexpr (requires {
                         { to_string(key) } -> std::convertible_to<std::string>;
                       }) {
    return to_string(key);
  } else if constexpr (requires(std::ostream& out) { out << key; }) {
    return detail::streamed(
        &key, [](std::ostream& out, const void* what) { out << *static_cast<const K*>(what); });
  } else if constexpr (std::is_enum_v<K>) {
    return format_key(static_cast<std::underlying_type_t<K>>(key));
  } else {
    return detail::text_of_hash(KeyHash<K>{}(key));
  }
}

}  // namespace shoal
