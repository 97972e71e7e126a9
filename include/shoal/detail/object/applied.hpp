#pragma once
// Arguments of functions that are called where an element, an entry or an executor's task is.

#include <shoal/detail/base/number.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/object/receive.hpp>
#include <shoal/detail/team/send.hpp>

#include <cstddef>
#include <type_traits>

namespace shoal::object {

/// Refuses an argument that is larger than a parameter of this type. **Errors**: CheckError that
/// names the object.
[[noreturn]] void refuse_number(const Place& place, detail::TextValue number,
                                std::string_view type);

template <class P, class Arg>
void check_applied_one(const Place& place, const Arg& arg) {
  using Parameter = std::remove_cvref_t<P>;
  team::check_fraction<Arg, Parameter>();
  if constexpr (may_cut_v<Arg, Parameter>) {
    if (!holds<Parameter>(arg)) [[unlikely]]
      refuse_number(place, arg, naming::type_text<Parameter>());
  }
}

/// Parameters behind the first N.
template <std::size_t N, class List>
struct Behind {
  using type = List;
};
template <std::size_t N, class P, class... Ps>
  requires(N > 0)
struct Behind<N, TypeList<P, Ps...>> : Behind<N - 1, TypeList<Ps...>> {};

template <class... Ps, class... Args>
void check_applied_to(TypeList<Ps...> /*parameters*/, const Place& place, const Args&... args) {
  if constexpr (sizeof...(Ps) == sizeof...(Args)) (check_applied_one<Ps>(place, args), ...);
}

/// Refuses numbers among the arguments that the parameters of `Function` behind the first N would
/// cut off: it is called elsewhere, and its arguments travel as they are.
template <auto Function, std::size_t N, class... Args>
void check_applied(const Place& place, const Args&... args) {
  using F = std::remove_const_t<decltype(Function)>;
  if constexpr (PlainFunction<F>) {
    check_applied_to(typename Behind<N, ParametersOf<F>>::type{}, place, args...);
  }
}

}  // namespace shoal::object
