#pragma once
// Views, which own no elements, and the types that own theirs.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::wire {

/// Views own nothing: their elements end with another value.
template <class T>
inline constexpr bool is_view_v = false;
template <class T, std::size_t Extent>
inline constexpr bool is_view_v<std::span<T, Extent>> = true;
template <class Char, class Traits>
inline constexpr bool is_view_v<std::basic_string_view<Char, Traits>> = true;

/// T is a view, or a standard type with a view in it.
template <class T>
inline constexpr bool holds_view_v = is_view_v<T>;
template <class T, std::size_t N>
inline constexpr bool holds_view_v<std::array<T, N>> = holds_view_v<T>;
template <class T>
inline constexpr bool holds_view_v<std::optional<T>> = holds_view_v<T>;
template <class T, class Allocator>
inline constexpr bool holds_view_v<std::vector<T, Allocator>> = holds_view_v<T>;
template <class A, class B>
inline constexpr bool holds_view_v<std::pair<A, B>> = holds_view_v<A> || holds_view_v<B>;
template <class... Ts>
inline constexpr bool holds_view_v<std::tuple<Ts...>> = (holds_view_v<Ts> || ...);

template <class T>
struct OwnerOf {
  using type = T;
};
template <class T, std::size_t Extent>
struct OwnerOf<std::span<T, Extent>> {
  using type = std::vector<std::remove_cv_t<T>>;
};
template <class Char, class Traits>
struct OwnerOf<std::basic_string_view<Char, Traits>> {
  using type = std::basic_string<Char, Traits>;
};

/// Type that owns the elements of a view; other types own theirs.
template <class T>
using Owner = typename OwnerOf<T>::type;

/// Converts to T, an owner: the elements of a view are copied.
template <class T, class Value>
decltype(auto) own(Value&& value) {
  if constexpr (is_view_v<std::remove_cvref_t<Value>>) {
    return T(value.begin(), value.end());
  } else {
    return static_cast<T>(std::forward<Value>(value));
  }
}

}  // namespace shoal::wire
