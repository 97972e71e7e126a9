#pragma once
// Active messages: a handler and its arguments, run on another rank.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/team/multicast.hpp>
#include <shoal/detail/team/send.hpp>
#include <shoal/message_options.hpp>

#include <concepts>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

namespace team {

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

template <class F>
concept CaptureLess =
    std::is_empty_v<F> && std::default_initializable<F> && requires { &F::operator(); };

template <auto Function, Delivery How>
struct StaticAm {
  using Static = StaticFunction<Function, How>;
};

template <class T>
inline constexpr bool is_static_am_v = false;
template <auto Function, Delivery How>
inline constexpr bool is_static_am_v<StaticAm<Function, How>> = true;

template <class Static, net::Lane lane = net::Lane::normal, std::uint32_t flags = 0, class... Args>
SHOAL_ALWAYS_INLINE inline void send_static(TeamCore& core, Rank target, Args&&... args) {
  const std::uint32_t handler = Static::handler.index() | core.flag_bits() | flags;
  send_message<lane>(core, {handler, Static::handler.signature(), target},
                     typename Static::Traits::Wires{}, std::forward<Args>(args)...);
}
/// Runs a function of a model, named by `am<function>`, on a rank of the core's team. See
/// kOwnOrderBit.
template <auto Function, Delivery How, class... Args>
void send(TeamCore& core, Rank target, StaticAm<Function, How> /*handler*/, Args&&... args) {
  send_static<StaticFunction<Function, How>, net::Lane::normal, kOwnOrderBit>(
      core, target, std::forward<Args>(args)...);
}

}  // namespace team

/// Names a function as a handler: world.send(Rank(1), am<greet>, 42). It registers itself, on all
/// ranks. The function may take World& first.
template <auto Function, Delivery How = Delivery::inlined>
inline constexpr team::StaticAm<Function, How> am{};

/// A handler with captures, made by Team::make_am() on all ranks in the same order.
///
/// **Guarantees**: the handler runs once on the target per send(); messages from one rank to
/// another start their handlers in the order sent (with Delivery::task: the tasks are made in that
/// order). A message runs the handler with the same number if that has the same name, type and
/// place in the source; else it fails the team with an error that names both handlers. So it finds
/// ranks that make their handlers in another order, unless these are of one type, from one place,
/// and without names of their own.
/// **Lifetime**: keep it, and all that the handler captures, until wait() has returned.
template <class... Wires>
class ActiveMessage {
 public:
  /// @cond internals
  /// Made by Team::make_am(). `place`: of the call in the program.
  template <class F>
  ActiveMessage(TeamCore& core, F function, const AmOptions& options,
                const std::source_location& place)
      : core_(&core) {
    using Traits = team::FunctionTraits<F>;
    static_assert(team::check_parameters(typename Traits::Parameters{}));
    struct Instance : team::Handler {
      explicit Instance(F f) : function(std::move(f)) {}
      F function;
    };
    auto* const instance = new Instance(std::move(function));
    std::shared_ptr<team::Handler> handler(static_cast<team::Handler*>(instance));
    instance->signature = type_signature<Wires...>();
    instance->delivery = options.delivery;
    instance->priority = options.priority;
    instance->self = &instance->function;
    instance->invoke = [](void* self, team::Batch& batch) {
      team::handle_all(*static_cast<F*>(self), batch, TypeList<Wires...>{});
    };
    handler_ = team::kInstanceBit | core.flag_bits() |
               core.add_handler(std::move(handler), options.name, team::source_of<F>(place));
    signature_ = instance->signature;
    if (options.own_order) handler_ |= team::kOwnOrderBit;
  }
  /// @endcond
  ~ActiveMessage() {
    if (core_ != nullptr) core_->remove_handler(handler_ & team::kIndexMask);
  }
  /// The moved-from message cannot be sent any more.
  ActiveMessage(ActiveMessage&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)),
        handler_(other.handler_),
        signature_(other.signature_) {}
  /// Exchanges the two messages.
  ActiveMessage& operator=(ActiveMessage&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(handler_, other.handler_);
    std::swap(signature_, other.signature_);
    return *this;
  }

  /// Sends a message that runs the handler on `target` with copies of the arguments.
  ///
  /// The arguments may be reused at once; a moved one is moved, not copied, when both ranks share a
  /// process. **Caller**: any thread, task or handler. **Blocks**: a task is suspended while the
  /// bytes in flight to `target` exceed the window, and now and then for a moment to let handlers
  /// run; a thread of the program sleeps; handlers never wait. **Errors**: CheckError when `target`
  /// is not a rank.
  /// **Ordering**: see the class. **Cost**: one copy of the arguments into a packet; of 16 KiB or
  /// more, none of those that are moved or Immutable.
  template <class... Args>
  void send(Rank target, Args&&... args) const {
    const team::Route route{handler_, signature_, target};
    team::send_message(*core_, route, TypeList<Wires...>{}, std::forward<Args>(args)...);
  }
  /// Sends an urgent message that runs the handler on `target`: it overtakes messages sent there by
  /// send(), in queues and in flight, and keeps its order with other urgent ones. For few and short
  /// messages: transports do not hold them back. **Caller**, **Blocks**, **Errors**: as send().
  template <class... Args>
  void send_urgent(Rank target, Args&&... args) const {
    const team::Route route{handler_, signature_, target};
    team::send_message<net::Lane::urgent>(*core_, route, TypeList<Wires...>{},
                                          std::forward<Args>(args)...);
  }
  /// Sends a message along a tree that runs the handler once on each recipient. **Caller**,
  /// **Blocks**, **Errors**, **Ordering**: as Team::multicast().
  template <class... Args>
  void multicast(const Recipients& recipients, Args&&... args) const {
    team::multicast_message(*core_, {handler_, signature_}, recipients, TypeList<Wires...>{},
                            std::forward<Args>(args)...);
  }

  /// Number of the handler in its team, the same on all members.
  [[nodiscard]] std::uint32_t number() const { return handler_ & team::kIndexMask; }
  /// Hash of the argument types, the name, and the type and place of the handler: the same on all
  /// members.
  [[nodiscard]] std::uint32_t signature() const { return signature_; }

 private:
  TeamCore* core_;
  std::uint32_t handler_ = 0;  // index with flag bits
  std::uint32_t signature_ = 0;
};

namespace team {

template <class F, class Wires>
struct AmTypeOf;
template <class F, class... Ws>
struct AmTypeOf<F, TypeList<Ws...>> {
  using type = ActiveMessage<Ws...>;
};

}  // namespace team

/// The type that Team::make_am() returns for a handler of type F.
template <class F>
using ActiveMessageFor =
    typename team::AmTypeOf<F, typename team::FunctionTraits<std::decay_t<F>>::Wires>::type;

}  // namespace shoal
