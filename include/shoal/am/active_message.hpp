#pragma once
// Active messages: a handler and its arguments, run on another rank.

#include <shoal/am/channel.hpp>
#include <shoal/base/check.hpp>
#include <shoal/base/type_name.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

namespace messaging {

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
void send_as_bytes(Channel& channel, net::Link& link, net::MessageHeader header, TypeList<Ws...>,
                   const Args&... args) {
  const auto with_wires = [&](const auto&... wires) {
    header.size_bytes = encoded_size<Ws...>(wires...);
    if constexpr ((is_plain_v<Ws> && ...)) {
      channel.append(link, header, 0,
                     [&](std::span<std::byte> place) { encode<Ws...>(place, wires...); });
    } else {
      // Runs code of the program, which must not happen under the link's lock.
      std::vector<std::byte> bytes(header.size_bytes);
      encode<Ws...>(std::span(bytes), wires...);
      channel.append_bytes(link, header, bytes);
    }
  };
  with_wires(as_wire<Ws>(args)...);
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
    return fits;
  }
  return false;
}

/// Within the process, what would be encoded and decoded again travels as an object: a moved
/// argument is moved, an Immutable is shared, anything else is copied once.
template <class... Ws, class... Args>
[[gnu::always_inline]] inline void send_fitting(Channel& channel, const Route& route,
                                                TypeList<Ws...> wires, Args&&... args) {
  net::Link& link = channel.admit(route.target);
  const net::MessageHeader header = channel.header_of(route, 0);
  if constexpr (!is_trivial_message_v<Ws...> && (can_store_v<Ws, Args&&> && ...)) {
    if (channel.is_local(link)) {
      const std::size_t weight = encoded_size<Ws...>(as_wire<Ws>(args)...);
      channel.append_object(link, header, weight,
                            std::make_unique<ArgumentsObject<Storage<Ws>...>>(
                                std::in_place, as_storage<Ws>(std::forward<Args>(args))...));
      return;
    }
  }
  send_as_bytes(channel, link, header, wires, args...);
}

template <class Wires, class... Args>
[[gnu::always_inline]] inline void send_message(Channel& channel, const Route& route, Wires wires,
                                                Args&&... args) {
  constexpr bool fits = check_arguments(Wires{}, TypeList<std::remove_cvref_t<Args>...>{});
  if constexpr (fits) send_fitting(channel, route, wires, std::forward<Args>(args)...);
}

template <auto Function, Delivery How>
struct StaticFunction {
  using Traits = FunctionTraits<decltype(Function)>;
  static_assert(check_parameters(typename Traits::Parameters{}));
  static constexpr const char* name() { return __PRETTY_FUNCTION__; }
  static void invoke(void*, Batch& batch) {
    auto function = Function;
    handle_all(function, batch, typename Traits::Wires{});
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline StaticHandler handler{name(), signature_of(typename Traits::Wires{}), How, &invoke};
};

template <class Closure>
struct StaticClosure {
  using Traits = FunctionTraits<Closure>;
  static_assert(check_parameters(typename Traits::Parameters{}));
  static constexpr const char* name() { return __PRETTY_FUNCTION__; }
  static void invoke(void*, Batch& batch) {
    Closure closure;
    handle_all(closure, batch, typename Traits::Wires{});
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline StaticHandler handler{name(), signature_of(typename Traits::Wires{}),
                                      Delivery::inlined, &invoke};
};

template <auto Function, Delivery How>
struct StaticAm {};

template <class F>
concept CaptureLess =
    std::is_empty_v<F> && std::default_initializable<F> && requires { &F::operator(); };

template <class T>
inline constexpr bool is_static_am_v = false;
template <auto Function, Delivery How>
inline constexpr bool is_static_am_v<StaticAm<Function, How>> = true;

}  // namespace messaging

/// Names a function as a handler: world.send(am<greet>, Rank(1), 42). It registers itself; no rank
/// has to do anything. The function may take World& first.
template <auto Function, Delivery How = Delivery::inlined>
inline constexpr messaging::StaticAm<Function, How> am{};

/// A handler with captures, made on a World in the same order on all ranks (World::make_am).
///
/// **Guarantees**: the handler runs once on the target per send(); messages from one rank to
/// another start their handlers in the order sent (with Delivery::task: the tasks are made in that
/// order). **Lifetime**: keep it, and all that the handler captures, until wait() has returned.
template <class... Wires>
class ActiveMessage {
 public:
  template <class F>
  ActiveMessage(messaging::Channel& channel, F function, const AmOptions& options)
      : channel_(&channel) {
    using Traits = messaging::FunctionTraits<F>;
    static_assert(messaging::check_parameters(typename Traits::Parameters{}));
    struct Instance : messaging::Handler {
      explicit Instance(F f) : function(std::move(f)) {}
      F function;
    };
    auto instance = std::make_shared<Instance>(std::move(function));
    instance->signature = signature();
    instance->delivery = options.delivery;
    instance->priority = options.priority;
    instance->self = &instance->function;
    instance->invoke = [](void* self, messaging::Batch& batch) {
      messaging::handle_all(*static_cast<F*>(self), batch, messaging::TypeList<Wires...>{});
    };
    handler_ = messaging::kInstanceBit | channel.flag_bits() |
               channel.add_handler(std::move(instance), options.name, naming::spelled<F>());
  }
  ~ActiveMessage() {
    if (channel_ != nullptr) channel_->remove_handler(handler_ & messaging::kIndexMask);
  }
  ActiveMessage(ActiveMessage&& other) noexcept
      : channel_(std::exchange(other.channel_, nullptr)), handler_(other.handler_) {}
  ActiveMessage& operator=(ActiveMessage&& other) noexcept {
    std::swap(channel_, other.channel_);
    std::swap(handler_, other.handler_);
    return *this;
  }

  /// Runs the handler on `target` with copies of the arguments.
  ///
  /// The arguments may be reused at once; a moved one is moved, not copied, when both ranks share a
  /// process. **Caller**: any thread, task or handler. **Blocks**: a task, when the bytes in flight
  /// to `target` exceed the window, is suspended until there is room, and now and then for a moment
  /// to let handlers run; a foreign thread sleeps; handlers never wait. **Errors**: CheckError when
  /// `target` is not a rank.
  /// **Ordering**: see the class. **Cost**: one copy of the arguments into a packet.
  template <class... Args>
  void send(Rank target, Args&&... args) const {
    const messaging::Route route{handler_, signature(), target};
    messaging::send_message(*channel_, route, messaging::TypeList<Wires...>{},
                            std::forward<Args>(args)...);
  }

 private:
  static constexpr std::uint32_t signature() { return type_signature<Wires...>(); }

  messaging::Channel* channel_;
  std::uint32_t handler_ = 0;  // index with flag bits
};

namespace messaging {

template <class F, class Wires>
struct AmTypeOf;
template <class F, class... Ws>
struct AmTypeOf<F, TypeList<Ws...>> {
  using type = ActiveMessage<Ws...>;
};

}  // namespace messaging

/// The type that World::make_am returns for a handler of type F.
template <class F>
using ActiveMessageFor =
    typename messaging::AmTypeOf<F,
                                 typename messaging::FunctionTraits<std::decay_t<F>>::Wires>::type;

}  // namespace shoal
