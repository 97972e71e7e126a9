#pragma once
// Result, class and parameters of functions, methods and closures.

#include <shoal/detail/base/language.hpp>

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

}  // namespace shoal
