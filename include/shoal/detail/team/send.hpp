#pragma once
// Sending of typed arguments to a handler.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/base/number.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/team/core.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::team {

/// The argument as the type that is encoded: itself, or converted.
template <class W, class Arg>
decltype(auto) as_wire(const Arg& arg) {
  if constexpr (std::is_same_v<W, Arg>) {
    return static_cast<const W&>(arg);
  } else {
    return static_cast<W>(arg);
  }
}

/// Whether the argument can be kept in an ObjectMessage.
template <class W, class Arg>
inline constexpr bool can_store_v =
    std::is_constructible_v<Storage<W>, Arg> ||
    (wire::is_view_v<W> && std::is_convertible_v<const std::remove_cvref_t<Arg>&, W>);

/// The argument as an ObjectMessage keeps it: moved if it may be; a view's elements are copied.
template <class W, class Arg>
decltype(auto) as_storage(Arg&& arg) {
  if constexpr (std::is_constructible_v<Storage<W>, Arg>) {
    return std::forward<Arg>(arg);
  } else {
    const W view = as_wire<W>(arg);
    return Storage<W>(view.begin(), view.end());
  }
}

template <class... Ws, class... Args>
std::unique_ptr<ObjectMessage> make_object(TypeList<Ws...> /*wires*/, Args&&... args) {
  return std::unique_ptr<ObjectMessage>(new ArgumentsObject<Storage<Ws>...>(
      std::in_place, as_storage<Ws>(std::forward<Args>(args))...));
}

/// Encodes an argument as the one that is kept for it, or as the caller's own.
template <class W, class Archive, class Value>
void save_as(Archive& ar, const Value& value) {
  if constexpr (std::is_same_v<W, Value>) {
    wire::save_argument(ar, value);
  } else {
    wire::save_argument<Archive, W>(ar, static_cast<W>(value));
  }
}

template <class... Ws, class... Values>
void encode_pieces(net::Pieces& pieces, bool borrows, TypeList<Ws...> /*wires*/,
                   const Values&... values) {
  wire::PieceSizes sizes;
  (save_as<Ws>(sizes, values), ...);
  wire::PieceArchive ar(pieces, sizes, borrows);
  (save_as<Ws>(ar, values), ...);
  ar.finish();
}

/// The arguments of a large message. They are kept as an object, like those of messages within the
/// process: what is moved or Immutable is not copied, all else once.
template <class... Ws, class... Args>
[[gnu::noinline]] std::shared_ptr<net::Pieces> make_pieces(TypeList<Ws...> wires, Args&&... args) {
  auto pieces = std::make_shared<net::Pieces>();
  if constexpr ((can_store_v<Ws, Args&&> && ...)) {
    pieces->source = make_object(wires, std::forward<Args>(args)...);
    const auto& kept = static_cast<ArgumentsObject<Storage<Ws>...>&>(*pieces->source).values;
    std::apply([&](const auto&... values) { encode_pieces(*pieces, true, wires, values...); },
               kept);
  } else {
    encode_pieces(*pieces, false, wires, args...);
  }
  return pieces;
}

template <class... Ws, class... Args>
SHOAL_ALWAYS_INLINE inline void send_as_bytes(TeamCore& core, net::Link& link, const Route& route,
                                              TypeList<Ws...> types, Args&&... args) {
  net::MessageHeader header = core.header_of(route, 0);
  const auto with_wires = [&](const auto&... wires) SHOAL_ALWAYS_INLINE {
    header.size_bytes = encoded_size<Ws...>(wires...);
    if (header.size_bytes >= net::kPieceBytes) [[unlikely]] {
      if (!core.is_local(link)) {
        return core.append_pieces(link, header, {}, make_pieces(types, std::forward<Args>(args)...),
                                  route.prefix);
      }
      if constexpr (!(wire::is_raw_v<Ws> && ...) && (can_store_v<Ws, Args&&> && ...)) {
        return core.append_object(link, header, header.size_bytes,
                                  make_object(types, std::forward<Args>(args)...), route.prefix);
      }
    }
    if constexpr ((is_plain_v<Ws> && ...)) {
      const auto write = [&](std::span<std::byte> place) { encode<Ws...>(place, wires...); };
      core.append(link, header, 0, write, route.prefix);
    } else {
      // Runs code of the program, which must not happen under the link's lock.
      std::vector<std::byte> bytes(header.size_bytes);
      encode<Ws...>(std::span(bytes), wires...);
      core.append_bytes(link, header, bytes, route.prefix);
    }
  };
  with_wires(as_wire<Ws>(args)...);
}

template <class Arg, class W>
consteval void check_fraction() {
  static_assert(!loses_fraction_v<Arg, W>,
                "shoal: a floating-point argument would lose its fraction, the parameter is an "
                "integer: convert it where the fraction may go");
}

/// Refuses an integer that its parameter, a smaller one, does not hold.
template <class W, class Arg>
SHOAL_ALWAYS_INLINE inline void check_number(const TeamCore& core, std::uint32_t handler,
                                             const Arg& arg) {
  if constexpr (may_cut_v<Arg, W>) {
    if (!holds<W>(arg)) [[unlikely]]
      core.refuse_number(handler, arg, naming::type_text<W>());
  }
}

/// Whether each argument converts to its parameter. The compiler names the types.
template <class... Ws, class... Args>
consteval bool check_arguments(TypeList<Ws...>, TypeList<Args...>) {
  static_assert(sizeof...(Ws) == sizeof...(Args),
                "shoal: the number of arguments differs from the handler's parameters");
  if constexpr (sizeof...(Ws) == sizeof...(Args)) {
    constexpr bool fits =
        ((std::is_same_v<Args, Ws> || std::is_convertible_v<const Args&, Ws>)&&...);
    static_assert(fits, "shoal: an argument does not convert to the handler's parameter");
    (check_fraction<Args, Ws>(), ...);
    return fits;
  }
  return false;
}

/// Within the process, arguments that own memory travel as objects, without encoding: a moved
/// argument is moved, an Immutable is shared, anything else is copied once.
template <net::Lane lane, class... Ws, class... Args>
SHOAL_ALWAYS_INLINE inline void send_fitting(TeamCore& core, const Route& route,
                                             TypeList<Ws...> wires, Args&&... args) {
  (check_number<Ws>(core, route.handler, args), ...);
  net::Link& link = core.admit<lane>(route.target, route.handler);
  if constexpr (!is_trivial_message_v<Ws...> && (can_store_v<Ws, Args&&> && ...)) {
    if (core.is_local(link)) {
      const std::size_t weight = encoded_size<Ws...>(as_wire<Ws>(args)...);
      core.append_object(link, core.header_of(route, 0), weight,
                         make_object(wires, std::forward<Args>(args)...), route.prefix);
      return;
    }
  }
  send_as_bytes(core, link, route, wires, std::forward<Args>(args)...);
}

template <net::Lane lane = net::Lane::normal, class Wires, class... Args>
SHOAL_ALWAYS_INLINE inline void send_message(TeamCore& core, const Route& route, Wires wires,
                                             Args&&... args) {
  constexpr bool fits = check_arguments(Wires{}, TypeList<std::remove_cvref_t<Args>...>{});
  if constexpr (fits) send_fitting<lane>(core, route, wires, std::forward<Args>(args)...);
}

}  // namespace shoal::team
