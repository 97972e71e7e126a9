#pragma once
// Result, class and parameters of functions, methods and closures.

#include <shoal/detail/base/language.hpp>
#include <shoal/detail/base/number.hpp>

#include <cstddef>
#include <type_traits>

namespace shoal {

template <class... Ts>
struct TypeList {};

/// @cond internals
/// Result and parameters of the type of a function, of a pointer to a function or to a method, or
/// of the call operator of a class that has one, such as a lambda. Class: that of a method; else
/// void.
template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
// clang-format off
template <class R, bool N, class... Ps>
struct SignatureOf<R(Ps...) noexcept(N)> {
  using Class = void;
  using Result = R;
  using Parameters = TypeList<Ps...>;
};
template <class R, bool N, class... Ps>
struct SignatureOf<R (*)(Ps...) noexcept(N)> : SignatureOf<R(Ps...)> {};
template <class R, class C, bool N, class... Ps>
struct SignatureOf<R (C::*)(Ps...) noexcept(N)> : SignatureOf<R(Ps...)> {
  using Class = C;
};
template <class R, class C, bool N, class... Ps>
struct SignatureOf<R (C::*)(Ps...) const noexcept(N)> : SignatureOf<R(Ps...)> {
  using Class = C;
};
// clang-format on
/// @endcond

/// @cond internals
template <class F>
using ParametersOf = typename SignatureOf<F>::Parameters;
/// @endcond

/// A function whose parameters can be listed: a pointer, or a class with one call operator.
template <class F>
concept PlainFunction = (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) ||
                        requires { &F::operator(); };

/// @cond internals
namespace detail {

template <std::size_t n, class List>
struct NthType {
  using Type = void;
};
template <class P, class... Ps>
struct NthType<0, TypeList<P, Ps...>> {
  using Type = P;
};
template <std::size_t n, class P, class... Ps>
  requires(n > 0)
struct NthType<n, TypeList<P, Ps...>> : NthType<n - 1, TypeList<Ps...>> {};

template <class T, class... Ps>
consteval bool truncates_any(TypeList<Ps...> /*parameters*/) {
  return (truncates_v<T, Ps> || ...);
}

}  // namespace detail

/// Parameter n of F; void: F has fewer, or does not list them, as a generic lambda.
template <class F, std::size_t n>
struct ParameterOf {
  using Type = void;
};
template <PlainFunction F, std::size_t n>
struct ParameterOf<F, n> : detail::NthType<n, ParametersOf<F>> {};
template <class F, std::size_t n>
using Parameter = typename ParameterOf<F, n>::Type;

/// A parameter of F cuts off numbers of type T: those of std::plus<int> cut off doubles.
template <class T, class F>
inline constexpr bool truncates_operands_v = false;
template <class T, PlainFunction F>
inline constexpr bool truncates_operands_v<T, F> = detail::truncates_any<T>(ParametersOf<F>{});
/// @endcond

}  // namespace shoal
