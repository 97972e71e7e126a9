#pragma once
// Methods that can be invoked: their class, their parameters, and how each parameter travels.

#include <shoal/detail/base/signature.hpp>
#include <shoal/handle.hpp>
#include <shoal/message.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace shoal {

/// Selects one of several methods of a name by the types of its parameters:
/// `overload<int>(&A::write)`. For a const method use const_overload.
template <class... Ps>
struct Overload {
  /// The method.
  template <class R, class C>
  consteval auto operator()(R (C::*method)(Ps...)) const {
    return method;
  }
};
/// Selects one of several const methods of a name by the types of its parameters:
/// `const_overload<int>(&A::read)`.
template <class... Ps>
struct ConstOverload {
  /// The method.
  template <class R, class C>
  consteval auto operator()(R (C::*method)(Ps...) const) const {
    return method;
  }
};
/// `overload<int>(&A::f)`: the overload of A::f with these parameters.
template <class... Ps>
inline constexpr Overload<Ps...> overload{};
/// `const_overload<int>(&A::f)`: the const overload of A::f with these parameters.
template <class... Ps>
inline constexpr ConstOverload<Ps...> const_overload{};

/// @cond internals
namespace object {

/// Class, result and parameters of a function that takes the object first.
template <class Result, class Parameters>
struct TakesObject;
template <class R, class X, class... Ps>
struct TakesObject<R, TypeList<X&, Ps...>> {
  using Class = std::remove_const_t<X>;
  using Result = R;
  using Parameters = TypeList<Ps...>;
};
/// Class, result and parameters of anything that can be invoked on an object.
template <class F>
struct MethodTraits : TakesObject<typename SignatureOf<F>::Result, ParametersOf<F>> {};
template <class F>
  requires std::is_member_function_pointer_v<F>
struct MethodTraits<F> : SignatureOf<F> {};

template <class P>
inline constexpr bool is_object_pointer_v = false;
template <class X>
inline constexpr bool is_object_pointer_v<X*> = Distributed<std::remove_const_t<X>>;
template <class P>
inline constexpr bool is_object_reference_v =
    std::is_lvalue_reference_v<P> && Distributed<std::remove_cvref_t<P>>;

/// Forms of a parameter: as it travels (Wire), as it is stored, and as the method takes it. A value
/// travels as in messages.
template <class P>
struct Parameter {
  static_assert(team::check_parameter<P>());
  using Wire = team::Wire<P>;
  template <class Value>
  static decltype(auto) give(Objects& /*objects*/, Value& value) {
    return team::as_argument<Wire>(value);
  }
};
/// Forms of a pointer to a distributed object: it travels as a handle, and becomes a pointer to the
/// receiver's representative.
template <class P>
  requires is_object_pointer_v<std::remove_cvref_t<P>>
struct Parameter<P> {
  using X = std::remove_const_t<std::remove_pointer_t<std::remove_cvref_t<P>>>;
  using Wire = Handle<RootOf<X>>;
  static X* give(Objects& /*objects*/, const Wire& handle) {
    return handle ? &as_class<X>(handle.get()) : nullptr;
  }
};
/// Forms of a reference to a distributed object: it travels as a handle, and becomes a reference to
/// the receiver's representative.
template <class P>
  requires is_object_reference_v<P>
struct Parameter<P> {
  using X = std::remove_cvref_t<P>;
  using Wire = Handle<RootOf<X>>;
  static X& give(Objects& /*objects*/, const Wire& handle) { return as_class<X>(handle.get()); }
};

/// Type of the result: a copy, or the handle of an object.
template <class R>
struct ResultOf {
  using type = wire::Owner<std::remove_cvref_t<R>>;
};
/// Result of a method that returns a pointer to a distributed object: its handle.
template <class R>
  requires(is_object_pointer_v<std::remove_cvref_t<R>>)
struct ResultOf<R> {
  using type = Handle<RootOf<std::remove_const_t<std::remove_pointer_t<std::remove_cvref_t<R>>>>>;
};
/// Result of a method that returns a reference to a distributed object: its handle.
template <class R>
  requires(is_object_reference_v<R>)
struct ResultOf<R> {
  using type = Handle<RootOf<std::remove_cvref_t<R>>>;
};

/// Properties of `Function` as a method of objects that are registered as a Root.
template <auto Function, class Root>
struct Method {
  using Traits = MethodTraits<std::remove_const_t<decltype(Function)>>;
  static_assert(
      std::is_base_of_v<typename Traits::Class, Root> ||
          std::is_base_of_v<Root, typename Traits::Class>,
      "shoal: the method belongs to a class that is neither the object's class nor a base "
      "of it nor derived from it");
  static_assert(std::is_base_of_v<typename Traits::Class, Root> || std::is_polymorphic_v<Root>,
                "shoal: the method belongs to a class derived from the object's class, which needs "
                "a virtual function then, such as the destructor, to find out what a "
                "representative is");
  /// The class whose method is called.
  using Class = std::conditional_t<std::is_base_of_v<typename Traits::Class, Root>, Root,
                                   typename Traits::Class>;
  using Result = typename ResultOf<typename Traits::Result>::type;

  template <class... Values>
  static decltype(auto) call(Objects& objects, void* representative, Values&... values) {
    Class& object = as_class<Class>(root_at<Root>(representative));
    return [&]<class... Ps>(TypeList<Ps...>) -> decltype(auto) {
      if constexpr (std::is_member_function_pointer_v<decltype(Function)>) {
        return (object.*Function)(Parameter<Ps>::give(objects, values)...);
      } else {
        return Function(object, Parameter<Ps>::give(objects, values)...);
      }
    }(typename Traits::Parameters{});
  }
};

/// Types of the parameters in messages, and as they are kept.
template <class Parameters>
struct WiresOf;
/// Wire types of these parameters.
template <class... Ps>
struct WiresOf<TypeList<Ps...>> {
  using Types = TypeList<typename Parameter<Ps>::Wire...>;
  using Values = std::tuple<team::Storage<typename Parameter<Ps>::Wire>...>;
};

}  // namespace object
/// @endcond
}  // namespace shoal
