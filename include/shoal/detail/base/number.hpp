#pragma once
// Conversions of numbers in which a part of the value could get lost without a word.

#include <shoal/detail/base/language.hpp>

#include <type_traits>

namespace shoal {

/// @cond internals

namespace detail {

/// Whether both types are integers; bool counts as one as From only.
template <class From, class To>
concept Integers = std::is_integral_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>;

}  // namespace detail

/// The conversion cuts off a fraction: from a floating-point type to an integer or to bool.
template <class From, class To>
inline constexpr bool loses_fraction_v = std::is_floating_point_v<std::remove_cvref_t<From>> &&
                                         std::is_integral_v<std::remove_cvref_t<To>>;

/// The conversion cuts off a fraction, or the upper bits of an integer.
template <class From, class To>
inline constexpr bool truncates_v = loses_fraction_v<From, To>;
template <class From, class To>
  requires detail::Integers<std::remove_cvref_t<From>, std::remove_cvref_t<To>>
inline constexpr bool truncates_v<From, To> = sizeof(std::remove_cvref_t<From>) >
                                              sizeof(std::remove_cvref_t<To>);

/// The conversion may cut off the upper bits of an integer, which is found out as it is made.
template <class From, class To>
inline constexpr bool may_cut_v = truncates_v<From, To> && !loses_fraction_v<From, To>;

/// Whether a To holds the integer. (-1 of an unsigned type is that of a smaller one.)
template <class To, class From>
[[nodiscard]] constexpr bool holds(const From& number) {
  return static_cast<From>(static_cast<To>(number)) == number;
}

/// The conversion cuts off a fraction, or the upper bits of an integer, of the result of a
/// computation; a result of type int does not count, as operands of smaller types give one.
template <class From, class To>
inline constexpr bool truncates_result_v =
    loses_fraction_v<From, To> || (truncates_v<From, To> && sizeof(From) > sizeof(int));

/// Refuses a floating-point number as a priority.
template <class Number>
consteval void check_priority() {
  static_assert(!std::is_floating_point_v<Number>,
                "shoal: a priority is an integer, and a floating-point number would lose its "
                "fraction: round or scale it");
}

/// Some numbers of type From are none of type int.
template <class From>
inline constexpr bool exceeds_int_v = std::is_integral_v<std::remove_cvref_t<From>> &&
                                      (sizeof(std::remove_cvref_t<From>) > sizeof(int) ||
                                       (sizeof(std::remove_cvref_t<From>) == sizeof(int) &&
                                        std::is_unsigned_v<std::remove_cvref_t<From>>));
/// @endcond

}  // namespace shoal
