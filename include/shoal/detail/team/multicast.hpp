#pragma once
// Multicast: one message to many ranks, along a tree that travels with it.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/team/send.hpp>
#include <shoal/recipients.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::team {

/// Each runs in a handler, once, unless the team fails.
struct MulticastSteps {
  Function<void()> arrived{};  // the payload has come: it may be read. May be empty
  Function<void()> done{};     // it was passed on, too: it may be changed
};

/// Arguments of a multicast in the forms in which they travel. encode() comes before share().
class MulticastArguments {
 public:
  using Shared = std::shared_ptr<const ObjectMessage>;
  using Copy = std::unique_ptr<ObjectMessage> (*)(const ObjectMessage& object);

  virtual ~MulticastArguments() = default;
  [[nodiscard]] virtual std::size_t size_bytes() const = 0;
  virtual void encode(std::span<std::byte> place) const = 0;
  /// The arguments of a large message, for recipients of other processes. `is_last`: share() is
  /// not called, so that arguments may be moved.
  [[nodiscard]] virtual std::shared_ptr<net::Pieces> pieces(bool is_last) = 0;
  /// nullptr: the arguments travel as bytes only.
  [[nodiscard]] virtual Copy copy() const { return nullptr; }
  /// An object that the ranks of the process share; each makes its own copy of it.
  [[nodiscard]] virtual Shared share() { return nullptr; }
};

/// References to the caller's arguments.
template <class Wires, class... Args>
class ArgumentsOf;
template <class... Ws, class... Args>
class ArgumentsOf<TypeList<Ws...>, Args...> final : public MulticastArguments {
 public:
  explicit ArgumentsOf(Args&&... args) : args_(std::forward<Args>(args)...) {}
  [[nodiscard]] std::size_t size_bytes() const override {
    return std::apply([](auto&... args) { return encoded_size<Ws...>(as_wire<Ws>(args)...); },
                      args_);
  }
  void encode(std::span<std::byte> place) const override {
    std::apply([&](auto&... args) { shoal::encode<Ws...>(place, as_wire<Ws>(args)...); }, args_);
  }
  [[nodiscard]] std::shared_ptr<net::Pieces> pieces(bool is_last) override {
    return std::apply(
        [is_last](auto&... args) {
          using Wires = TypeList<Ws...>;
          return is_last ? make_pieces(Wires{}, std::forward<Args>(args)...)
                         : make_pieces(Wires{}, std::as_const(args)...);
        },
        args_);
  }
  [[nodiscard]] Copy copy() const override {
    if constexpr (kIsShared) {
      return [](const ObjectMessage& object) -> std::unique_ptr<ObjectMessage> {
        return std::unique_ptr<ObjectMessage>(new Object(static_cast<const Object&>(object)));
      };
    } else {
      return nullptr;
    }
  }
  [[nodiscard]] Shared share() override {
    if constexpr (kIsShared) {
      return std::apply(
          [](auto&&... args) {
            return std::make_shared<const Object>(std::in_place,
                                                  as_storage<Ws>(std::forward<Args>(args))...);
          },
          args_);
    } else {
      return nullptr;
    }
  }

 private:
  using Object = ArgumentsObject<Storage<Ws>...>;
  static constexpr bool kIsShared = !is_trivial_message_v<Ws...> &&
                                    (can_store_v<Ws, Args&&> && ...) &&
                                    (std::is_copy_constructible_v<Storage<Ws>> && ...);
  std::tuple<Args&&...> args_;
};

/// Handler of a multicast: as Route, without a target.
struct MulticastRoute {
  std::uint32_t handler = 0;  // index with flag bits
  std::uint32_t signature = 0;
};

/// Sends a message to each recipient, ranks of the core's team. **Errors**: CheckError, and
/// nothing is sent, for a rank that does not exist or is listed twice.
void send_multicast(TeamCore& core, const MulticastRoute& route, const Recipients& recipients,
                    MulticastArguments& arguments);

template <class... Ws, class... Args>
void multicast_message(TeamCore& core, const MulticastRoute& route, const Recipients& recipients,
                       TypeList<Ws...> wires, Args&&... args) {
  constexpr bool fits = check_arguments(wires, TypeList<std::remove_cvref_t<Args>...>{});
  if constexpr (fits) {
    (check_number<Ws>(core, route.handler, args), ...);
    ArgumentsOf<TypeList<Ws...>, Args...> arguments(std::forward<Args>(args)...);
    send_multicast(core, route, recipients, arguments);
  }
}

/// `flags`: perhaps kOwnOrderBit.
template <class Static, std::uint32_t flags = 0, class... Args>
void multicast_static(TeamCore& core, const Recipients& recipients, Args&&... args) {
  multicast_message(
      core, {Static::handler.index() | core.flag_bits() | flags, Static::handler.signature()},
      recipients, typename Static::Traits::Wires{}, std::forward<Args>(args)...);
}

}  // namespace shoal::team
