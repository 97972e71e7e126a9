#pragma once
// How a type travels in a message: as raw bytes, through a codec, through its own serialize(), or
// not at all.

#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/base/view.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

class SizeArchive;
class WriteArchive;
class ReadArchive;

/// The key to private members: a class that says `friend class shoal::Access;` may keep its
/// serialize() and its default constructor private.
class Access {
 public:
  /// @cond internals
  template <class Archive, class T>
  static constexpr bool has_member = requires(Archive& ar, T& value) { value.serialize(ar); };

  template <class Archive, class T>
  static constexpr bool has_versioned_member =
      requires(Archive& ar, T& value) { value.serialize(ar, 0U); };

  template <class T>
  static constexpr bool is_default_constructible = requires { T(); };

  template <class Archive, class T>
  static constexpr void call_member(Archive& ar, T& value) {
    value.serialize(ar);
  }

  template <class Archive, class T>
  static constexpr void call_versioned_member(Archive& ar, T& value) {
    value.serialize(ar, 0U);
  }

  template <class T>
  static T construct() {
    return T();
  }

  template <class T>
  static std::unique_ptr<T> construct_on_heap() {
    return std::unique_ptr<T>(new T());
  }
  /// @endcond
};

/// Parts of archives. Not for programs: they include <shoal/archive.hpp>.
namespace wire {

/// Saves and loads one type. The primary template serves types with a serialize() of their own.
template <class T>
struct Codec;

template <class T, template <class...> class Template>
inline constexpr bool is_instance_v = false;
template <class... Args, template <class...> class Template>
inline constexpr bool is_instance_v<Template<Args...>, Template> = true;

template <class Archive, class T>
concept FreeSerialize = requires(Archive& ar, T& value) { serialize(ar, value); };
template <class Archive, class T>
concept FreeVersionedSerialize = requires(Archive& ar, T& value) { serialize(ar, value, 0U); };

/// T brings one of the four spellings of serialize(). Scalars cannot, and are never asked.
template <class Archive, class T>
inline constexpr bool has_serialize_v =
    (std::is_class_v<T> || std::is_union_v<T> || std::is_enum_v<T>)&&(
        Access::has_member<Archive, T> || Access::has_versioned_member<Archive, T> ||
        FreeSerialize<Archive, T> || FreeVersionedSerialize<Archive, T>);

/// T is a template of the standard library that is called so. Known by its name, in order not to
/// include what most programs do not need. libstdc++ and libc++ put names into inner namespaces.
template <class T>
constexpr bool is_std_template(std::string_view name) {
  if constexpr (!std::is_class_v<T>) {
    return false;
  } else {
    std::string_view rest = naming::type_text<T>();
    if (!rest.starts_with("std::")) return false;
    rest.remove_prefix(5);
    while (rest.starts_with("__")) {
      const std::size_t end = rest.find("::");
      if (end == std::string_view::npos) return false;
      rest.remove_prefix(end + 2);
    }
    return rest.starts_with(name) && rest.substr(name.size()).starts_with("<");
  }
}

template <class T>
inline constexpr bool is_variant_v = is_std_template<T>("variant");

template <class T>
inline constexpr bool is_reference_wrapper_v = !std::is_same_v<std::unwrap_reference_t<T>, T>;

/// Addresses mean nothing on another rank, although most of these are trivially copyable.
template <class T>
inline constexpr bool is_address_v =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T> ||
    is_reference_wrapper_v<T> || is_instance_v<T, std::initializer_list>;

/// T is copied byte by byte. Looks through the standard wrappers, so that neither a pointer nor an
/// element with a serialize() of its own slips through inside a trivially copyable array.
template <class T>
struct IsRaw
    : std::bool_constant<std::is_trivially_copyable_v<T> && std::is_move_constructible_v<T> &&
                         !is_address_v<T> && !is_view_v<T> && !has_serialize_v<SizeArchive, T>> {};
template <class T, std::size_t N>
struct IsRaw<T[N]> : IsRaw<T> {};
template <class T, std::size_t N>
struct IsRaw<std::array<T, N>> : IsRaw<T> {};
template <class T>
struct IsRaw<std::optional<T>>
    : std::bool_constant<std::is_trivially_copyable_v<std::optional<T>> && IsRaw<T>::value> {};
template <template <class...> class Variant, class... Ts>
  requires is_variant_v<Variant<Ts...>>
struct IsRaw<Variant<Ts...>> : std::bool_constant<std::is_trivially_copyable_v<Variant<Ts...>> &&
                                                  (IsRaw<Ts>::value && ...)> {};
template <class A, class B>
struct IsRaw<std::pair<A, B>> : std::bool_constant<std::is_trivially_copyable_v<std::pair<A, B>> &&
                                                   IsRaw<A>::value && IsRaw<B>::value> {};
template <class... Ts>
struct IsRaw<std::tuple<Ts...>>
    : std::bool_constant<std::is_trivially_copyable_v<std::tuple<Ts...>> &&
                         (IsRaw<Ts>::value && ...)> {};

template <class T>
inline constexpr bool is_raw_v = IsRaw<std::remove_cv_t<T>>::value;

/// A view whose elements are raw. Its element type is `T::value_type` for spans and string views.
template <class T>
inline constexpr bool is_raw_view_v = false;
template <class T, std::size_t Extent>
inline constexpr bool is_raw_view_v<std::span<T, Extent>> = is_raw_v<T>;
template <class Char, class Traits>
inline constexpr bool is_raw_view_v<std::basic_string_view<Char, Traits>> = true;

/// Message buffers start at a multiple of it; no type is aligned more strictly inside a message.
inline constexpr std::size_t max_alignment = 16;

template <class T>
inline constexpr std::size_t raw_alignment_v =
    alignof(T) < max_alignment ? alignof(T) : max_alignment;

constexpr std::size_t align_up(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

/// Bytes of a message whose arguments are all raw: known at compile time.
template <class... Ts>
consteval std::size_t fixed_size_bytes() {
  std::size_t end = 0;
  ((end = align_up(end, raw_alignment_v<Ts>) + sizeof(Ts)), ...);
  return end;
}

template <class T>
struct IsPlain : std::bool_constant<is_raw_v<T> || is_raw_view_v<T>> {};
template <class T, std::size_t N>
struct IsPlain<T[N]> : IsPlain<T> {};
template <class T, std::size_t N>
struct IsPlain<std::array<T, N>> : IsPlain<T> {};
template <class Char, class Traits, class Allocator>
struct IsPlain<std::basic_string<Char, Traits, Allocator>> : std::true_type {};
template <class T, class Allocator>
struct IsPlain<std::vector<T, Allocator>> : std::bool_constant<is_raw_v<T>> {};
template <class T>
struct IsPlain<std::optional<T>> : IsPlain<T> {};
template <class A, class B>
struct IsPlain<std::pair<A, B>> : std::bool_constant<IsPlain<A>::value && IsPlain<B>::value> {};
template <class... Ts>
struct IsPlain<std::tuple<Ts...>> : std::bool_constant<(IsPlain<Ts>::value && ...)> {};

/// Refuses types that can never travel at compile time, and names the remedy. `Type` is not raw. A
/// class, so that the compiler reports each type once.
template <class Type>
struct TravelCheck {
  using T = Type;
  static_assert(!std::is_pointer_v<T> && !std::is_null_pointer_v<T>,
                "shoal: a raw pointer cannot travel in a message, it means nothing on another "
                "rank: send the value, a std::string, or a std::span of the elements");
  static_assert(!std::is_member_pointer_v<T>,
                "shoal: a pointer to member cannot travel in a message: send an enum or an index");
  static_assert(!is_reference_wrapper_v<T>,
                "shoal: a std::reference_wrapper cannot travel in a message: send the value");
  static_assert(
      !is_instance_v<T, std::initializer_list>,
      "shoal: a std::initializer_list cannot travel in a message, it owns nothing: send a "
      "std::vector");
  static_assert(!is_view_v<T>,
                "shoal: a std::span or std::string_view cannot travel inside another value, it "
                "owns nothing: store a std::vector or std::string, or make it an argument of its "
                "own");
  static_assert(!is_instance_v<T, std::shared_ptr> && !is_instance_v<T, std::weak_ptr>,
                "shoal: a std::shared_ptr cannot travel in a message, ranks share no memory: send "
                "a shoal::Immutable<T>, a std::unique_ptr<T> or the value");
  static constexpr bool is_refused_above = is_address_v<T> || is_view_v<T> ||
                                           is_instance_v<T, std::shared_ptr> ||
                                           is_instance_v<T, std::weak_ptr>;
  static_assert(is_refused_above || has_serialize_v<SizeArchive, T>,
                "shoal: a type cannot travel in a message, TravelCheck names it: make it trivially "
                "copyable or give it serialize(archive)");
};

}  // namespace wire

/// Encoding a T never throws, runs no code of the program and allocates nothing: trivially copyable
/// types, strings, views; vectors of trivially copyable elements; arrays, tuples, pairs and
/// optionals of plain types.
template <class T>
inline constexpr bool is_plain_v = wire::IsPlain<std::remove_cvref_t<T>>::value;

/// All of them are copied as they lie in memory, or are views of such elements.
template <class... Ts>
inline constexpr bool is_trivial_message_v = ((wire::is_raw_v<std::remove_cvref_t<Ts>> ||
                                               wire::is_raw_view_v<std::remove_cvref_t<Ts>>)&&...);

}  // namespace shoal
