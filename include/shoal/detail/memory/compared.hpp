#pragma once
// Values that are compared byte by byte, without their padding.

#include <cstring>
#include <type_traits>

namespace shoal::memory {

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define SHOAL_CLEARS_PADDING
#endif
#endif

/// Sets the padding of a value to zeros. Padding is no part of a value.
#ifdef SHOAL_CLEARS_PADDING
inline constexpr bool kClearsPadding = true;
template <class T>
void clear_padding(T& value) {
  __builtin_clear_padding(&value);
}
#undef SHOAL_CLEARS_PADDING
#else
inline constexpr bool kClearsPadding = false;
template <class T>
void clear_padding(T& /*value*/) {}
#endif

/// Whether equal values of this type, which is trivially copyable, have equal bytes after
/// clear_padding().
template <class T>
inline constexpr bool comparable_v =
    kClearsPadding || std::is_arithmetic_v<T> || std::has_unique_object_representations_v<T>;

/// Whether two values have the same bytes. True where that cannot be found out.
template <class T>
[[nodiscard]] bool same_value(T a, T b) {
  clear_padding(a);
  clear_padding(b);
  return !comparable_v<T> || std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace shoal::memory
