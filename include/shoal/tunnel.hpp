#pragma once
// Tunnels: invocations of one method with some of their arguments fixed.

#include <shoal/distributed_object.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Target of a tunnel whose calls name the rank each.
struct AnyRank {};
/// Target of a tunnel whose calls name the rank each.
inline constexpr AnyRank any_rank{};

namespace object {

/// First N types of a list, and the others.
template <std::size_t N, class First, class Rest>
struct Parted {
  using Fixed = First;
  using Open = Rest;
};
template <std::size_t N, class... Fs, class T, class... Ts>
  requires(N > 0)
struct Parted<N, TypeList<Fs...>, TypeList<T, Ts...>>
    : Parted<N - 1, TypeList<Fs..., T>, TypeList<Ts...>> {};

/// Messages of tunnels whose first N arguments are fixed.
template <auto Function, class Root, std::size_t N>
struct TunnelReceiver {
  using To = Receiver<Function, Root, Kind::plain>;
  using All = typename To::Wires;
  using FixedWires = typename Parted<N, TypeList<>, All>::Fixed;
  using OpenWires = typename Parted<N, TypeList<>, All>::Open;

  template <class... Ws>
  static std::tuple<team::Storage<Ws>...> storage_of(TypeList<Ws...>);
  using Stored = decltype(storage_of(FixedWires{}));

  /// Receiving end, with the fixed arguments.
  struct End final : Owned {
    explicit End(Stored&& values) : fixed(std::move(values)) {}
    Stored fixed;
  };

  /// Handles the messages that open the tunnel on this rank.
  static void invoke_open(void* /*self*/, team::Batch& batch) {
    while (const team::Message* message = batch.next()) open(*message, FixedWires{});
  }
  template <class... Ws>
  static void open(const team::Message& message, TypeList<Ws...> wires) {
    team::with_arguments(message, wires, [&](auto&... values) {
      Objects::of(*message.core)
          .open_tunnel(Target::from(*message.prefix).context,
                       std::unique_ptr<Owned>(new End(Stored(To::template stored<Ws>(values)...))));
    });
  }
  static void invoke_item(void* /*self*/, team::Batch& batch) {
    if (batch.message().dropped) return drop_all<OpenWires>(batch);
    std::apply(
        [&batch](const auto&... fixed) {
          queue_kept<Function, Root, Kind::plain, OpenWires>(batch, fixed...);
        },
        end_of(batch.message()).fixed);
  }
  static const End& end_of(const team::Message& message) {
    return static_cast<const End&>(
        Objects::of(*message.core).tunnel(Target::from(*message.prefix).context));
  }
  template <class... Ws>
  static consteval std::uint32_t signature(TypeList<Ws...>) {
    return type_signature<Ws...>();
  }
  static constexpr const char* open_name() { return __PRETTY_FUNCTION__; }
  static constexpr const char* item_name() { return __PRETTY_FUNCTION__; }
  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): register themselves
  static inline team::StaticHandler open_handler{open_name(), signature(FixedWires{}),
                                                 Delivery::inlined, &invoke_open};
  static inline team::StaticHandler item_handler{item_name(), signature(OpenWires{}),
                                                 Delivery::inlined, &invoke_item};
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
};

}  // namespace object

/// Invokes one method of one object, with its first arguments fixed; made by bind(). Fixed
/// arguments travel once to each rank; an invocation carries the other arguments, and consecutive
/// invocations carry the target once.
///
/// **Ordering**: invocations through one tunnel on one rank run in the order in which they were
/// made; they have no order with any others, those of other tunnels included. Their epoch is the
/// one that the code which made the tunnel had then; if a section made it, the present epoch of its
/// rank. **Caller**: one task or thread at a time. On a rank that is no member of the object's
/// team, the fixed arguments travel with each invocation.
template <auto Function, class Root, class Target, class... Fixed>
class Tunnel {
 public:
  /// @cond internals
  /// Called by bind().
  Tunnel(const object::Place& place, Target target, Fixed... fixed)
      : place_(place),
        target_(target),
        opened_(static_cast<std::size_t>(place.address.size), false),
        fixed_(std::move(fixed)...) {
    if (place.address.number == 0) object::refuse_empty_handle();
    if (place.objects == nullptr) {
      context_ = object::fresh_outside_context();
      return;
    }
    context_ = place.objects->fresh_context();
    follows_ = place.objects->caller_follows();
    epoch_ = place.objects->caller_epoch();
  }
  /// @endcond
  Tunnel(Tunnel&& other) noexcept = default;
  Tunnel& operator=(Tunnel&&) = delete;
  ~Tunnel() {
    for (std::size_t rank = 0; rank < opened_.size(); ++rank) {
      const Rank to(static_cast<int>(rank));
      if (opened_[rank]) object::close_tunnel(*place_.objects, to, header(to, 0).context);
    }
  }

  /// Invokes the method with the rank, unless it is fixed, and the arguments that are not fixed.
  /// **Blocks**: as ActiveMessage::send().
  template <class... Args>
  void operator()(Args&&... args) {
    if constexpr (std::is_same_v<Target, Rank>) {
      send(target_, std::forward<Args>(args)...);
    } else {
      send(std::forward<Args>(args)...);
    }
  }

 private:
  template <class... Args>
  void send(Rank to, Args&&... args) {
    using To = object::Receiver<Function, Root, object::Kind::plain>;
    if (to < 0 || static_cast<std::size_t>(to.value()) >= opened_.size()) [[unlikely]]
      object::refuse_target(place_.objects, place_.address.number, place_.address.size, To::handler,
                            to);
    if (place_.objects == nullptr) [[unlikely]] {
      return std::apply(
          [&](const auto&... fixed) {
            To::send_outside_in(context_, place_, to, fixed..., args...);
          },
          fixed_);
    }
    const std::uint32_t epoch = std::apply(
        [&](const auto&... fixed) { return To::epoch_of(place_.address, fixed..., args...); },
        fixed_);
    const auto target = header(to, epoch);
    if constexpr (sizeof...(Fixed) == 0) {
      To::send(*place_.objects, to, target, std::forward<Args>(args)...);
    } else {
      using End = object::TunnelReceiver<Function, Root, sizeof...(Fixed)>;
      if (!opened_[static_cast<std::size_t>(to.value())]) {
        opened_[static_cast<std::size_t>(to.value())] = true;
        std::apply(
            [&](const auto&... fixed) {
              object::send_to_target<typename End::FixedWires>(End::open_handler, *place_.objects,
                                                               to, target, fixed...);
            },
            fixed_);
      }
      object::send_to_target<typename End::OpenWires>(End::item_handler, *place_.objects, to,
                                                      target, std::forward<Args>(args)...);
    }
  }

  [[nodiscard]] object::Target header(Rank to, std::uint32_t epoch) const {
    return place_.objects->target_in(context_, place_.address.number, to,
                                     epoch > epoch_ ? epoch : epoch_, follows_);
  }

  object::Place place_;
  Target target_;
  std::uint64_t context_ = 0;
  std::uint32_t epoch_ = 0;
  bool follows_ = false;      // the epoch of the rank
  std::vector<bool> opened_;  // by rank: the fixed arguments have been sent
  std::tuple<Fixed...> fixed_;
};

/// Makes a tunnel to `Function` of an object, by its handle or a representative, with the target
/// and the first arguments fixed: `auto set = bind<&A::set>(a, Rank(1)); set(index, value);` With
/// any_rank, each call names the target: `set(rank, index, value)`.
template <auto Function, class Object, class Target, class... Fixed>
  requires(std::is_same_v<Target, Rank> || std::is_same_v<Target, AnyRank>)
[[nodiscard]] auto bind(const Object& object, Target target, Fixed... fixed) {
  return Tunnel<Function, typename Object::Object, Target, Fixed...>(object.place_of_object(),
                                                                     target, std::move(fixed)...);
}

}  // namespace shoal
