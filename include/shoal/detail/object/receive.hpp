#pragma once
// The receiving end of invocations: handlers, which decode them, and their results.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/overload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::object {

enum class Kind : std::uint8_t {
  plain,    // no caller waits for the result
  attempt,  // the same; ignored if the object is gone
  call,     // the result, or the exception, goes to a promise
};

/// Gives a promise the exception of the invocation that it waits for. **Caller**: a catch clause.
void fail_call(const Objects& objects, const Invocation& invocation, int rank, bool in_world,
               std::uint64_t number);

/// Destination of a result: none.
template <class Result, Kind How>
struct ReplyTo {
  template <class Run>
  void from(Objects& /*objects*/, const Invocation& /*invocation*/, Run run) const {
    static_cast<void>(run());
  }
  void miss(Objects& /*objects*/, const std::string& text) const {
    if constexpr (How == Kind::plain) throw CheckError(text);
  }
};
/// Destination of a result: the promise of its caller.
template <class Result>
struct ReplyTo<Result, Kind::call> {
  RemotePromise<Result> promise;

  template <class Run>
  void from(Objects& objects, const Invocation& invocation, Run run) const {
    Team& team = objects.team();
    try {
      if constexpr (std::is_void_v<Result>) {
        run();
        team.fulfill(promise);
      } else {
        team.fulfill(promise, wire::own<Result>(run()));
      }
    } catch (const CancelledError& error) {
      team.fail(promise, error.what());  // a caller outside the team does not hear of its failure
      throw;
    } catch (...) {
      fail_call(objects, invocation, promise.rank, promise.in_world != 0, promise.number);
    }
  }
  void miss(Objects& objects, const std::string& text) const { objects.team().fail(promise, text); }
};

/// An invocation of one method, with its arguments.
template <auto Function, class Root, Kind How>
class TypedInvocation final : public Invocation {
 public:
  using M = Method<Function, Root>;
  using Values = typename WiresOf<typename M::Traits::Parameters>::Values;
  using Reply = ReplyTo<typename M::Result, How>;

  TypedInvocation(const Target& target, Rank source, const Reply& reply, Values&& values)
      : Invocation(target, source, 1, object_class<Root>),
        reply_(reply),
        values_(std::move(values)) {}

  void run(Objects& objects, void* representative) override {
    begin_one();
    reply_.from(objects, *this, [&]() -> decltype(auto) {
      return std::apply(
          [&](auto&... values) -> decltype(auto) {
            return M::call(objects, representative, values...);
          },
          values_);
    });
  }
  void miss(Objects& objects, const std::string& text) override {
    begin_one();
    reply_.miss(objects, text);
  }
  [[nodiscard]] std::string method() const override {
    return naming::readable(pretty(), "Function");
  }
  static const char* pretty() { return __PRETTY_FUNCTION__; }

 private:
  [[no_unique_address]] Reply reply_;
  Values values_;
};

/// Invocations of one method that stay in their packet, and so in the sender's window: one is
/// decoded when it runs. `Wires`: types of its message, `How::call`: the reply first. `Fixed`: the
/// method's first arguments, which come from elsewhere.
template <auto Function, class Root, Kind How, class Wires, class... Fixed>
class PackedInvocations final : public Invocation {
 public:
  using One = TypedInvocation<Function, Root, How>;
  using M = typename One::M;
  using Reply = typename One::Reply;

  /// `message`: one of the run.
  PackedInvocations(const team::Message& message, Rank source, team::MessageRun&& run,
                    const Fixed&... fixed)
      : Invocation(Target::from(*message.prefix), source, run.count, object_class<Root>),
        run_(std::move(run)),
        is_object_(message.is_object),
        fixed_(fixed...) {}
  ~PackedInvocations() override {
    if (!is_object_) return;
    while (left() > 0) delete team::object_of(begin());
  }

  void run(Objects& objects, void* representative) override {
    with_parts([&](const Reply& reply, auto&... values) {
      reply.from(objects, *this, [&]() -> decltype(auto) {
        std::tuple<Fixed...> fixed(fixed_);
        return std::apply(
            [&](auto&... first) -> decltype(auto) {
              return M::call(objects, representative, first..., values...);
            },
            fixed);
      });
    });
  }
  void miss(Objects& objects, const std::string& text) override {
    with_parts([&](const Reply& reply, auto&... /*values*/) { reply.miss(objects, text); });
  }
  void leave_window() override { run_.packet->disown(); }
  [[nodiscard]] std::unique_ptr<Invocation> split() override {
    if (left() == 0) return nullptr;
    std::unique_ptr<Invocation> rest(new PackedInvocations(*this));
    give_away();
    return rest;
  }
  [[nodiscard]] std::string method() const override {
    return naming::readable(One::pretty(), "Function");
  }

 private:
  /// Takes the part of `other` that has not begun.
  PackedInvocations(const PackedInvocations& other)
      : Invocation(other.target(), other.source(), other.left(), object_class<Root>),
        run_(other.run_.rest(other.begun())),
        is_object_(other.is_object_),
        fixed_(other.fixed_) {}

  /// Begins the next message and returns it.
  team::Message begin() {
    const std::byte* const first = run_.first + begin_one() * run_.step;
    return {nullptr, source(), is_object_, false, {first, run_.size_bytes}};
  }
  /// Calls f(reply, values...) for the next message.
  template <class F>
  void with_parts(const F& f) {
    team::with_arguments(begin(), Wires{}, [&f](auto&... parts) {
      if constexpr (How == Kind::call) {
        f(parts...);
      } else {
        f(Reply{}, parts...);
      }
    });
  }

  const team::MessageRun run_;
  const bool is_object_;
  const std::tuple<Fixed...> fixed_;
};

/// Refuses a target that the object's team has not. `objects`: nullptr where the caller's rank is
/// no member. **Errors**: CheckError that names the method of `handler`, and the object.
[[noreturn]] void refuse_target(const Objects* objects, std::uint32_t number, int size,
                                const team::StaticHandler& handler, Rank to);
/// Refuses an argument of an invocation that is larger than a parameter of this type. **Errors**:
/// CheckError that names the method of `handler`.
[[noreturn]] void refuse_number(const team::StaticHandler& handler, detail::TextValue number,
                                std::string_view type);
/// Refuses a target that is none of the object's, for messages that a core has refused, which does
/// not know of objects.
void check_target(const Objects& objects, std::uint32_t number, const team::StaticHandler& handler,
                  Rank to);

/// Sends the wires of `handler` with the target as their prefix.
template <class Wires, class... Args>
SHOAL_ALWAYS_INLINE inline void send_to_target(const team::StaticHandler& handler, Objects& objects,
                                               Rank to, const Target& target, Args&&... args) {
  TeamCore& core = objects.core();
  const net::RunPrefix prefix = target.to_prefix();
  const std::uint32_t flags = core.flag_bits() | net::kPrefixBit | team::kOwnOrderBit;
  try {
    team::send_message(core, {handler.index() | flags, handler.signature(), to, &prefix}, Wires{},
                       std::forward<Args>(args)...);
  } catch (const CheckError&) {
    check_target(objects, target.number, handler, to);
    throw;
  }
}

/// Sends an invocation that is counted outside the object's team, with its arguments as bytes: to
/// `to`, or through rank 0 of the team if this rank is no member. `epoch`: of the object and of
/// those among the arguments. `context` 0: the caller's. `may_miss`: it is ignored if the team has
/// ended.
void send_outside(const Place& place, Rank to, const team::StaticHandler& handler,
                  std::vector<std::byte> arguments, std::uint32_t epoch, std::uint64_t context = 0,
                  bool may_miss = false);
/// Returns a context that is unique in the team, on a rank that is no member.
[[nodiscard]] std::uint64_t fresh_outside_context();

/// Frees what the messages of a team that has failed hold.
template <class Wires>
void drop_all(team::Batch& batch) {
  while (const team::Message* message = batch.next())
    team::with_arguments(*message, Wires{}, [](auto&... /*values*/) {});
}
/// Queues what is left of a batch together, in its packet; see PackedInvocations.
template <auto Function, class Root, Kind How, class Wires, class... Fixed>
void queue_kept(team::Batch& batch, const Fixed&... fixed) {
  using Together = PackedInvocations<Function, Root, How, Wires, Fixed...>;
  team::MessageRun run = batch.keep();
  if (run.count == 0) return;
  const team::Message& message = batch.message();
  TeamCore& core = *message.core;
  Objects::of(core).accept(std::unique_ptr<Invocation>(new Together(
                               message, core.from_world(message.source), std::move(run), fixed...)),
                           nullptr);
}

template <class... As, class... Bs>
TypeList<As..., Bs...> joined(TypeList<As...>, TypeList<Bs...>);

/// Returns whether the team of a core has ended on this rank.
[[nodiscard]] bool has_ended(TeamCore& core);
/// Refuses an invocation that has come after the end of its team. **Errors**: CheckError that names
/// the method, the object and the sender.
[[noreturn]] void refuse_late(const team::StaticHandler& handler, const team::Message& message);

/// Decodes the messages of one method.
template <auto Function, class Root, Kind How>
struct Receiver {
  using One = TypedInvocation<Function, Root, How>;
  using Reply = typename One::Reply;
  using Wires = typename WiresOf<typename One::M::Traits::Parameters>::Types;
  /// Wires that come before the arguments.
  using Leads = std::conditional_t<How == Kind::call, TypeList<Reply>, TypeList<>>;
  using All = decltype(joined(Leads{}, Wires{}));

  static constexpr const char* name() { return __PRETTY_FUNCTION__; }

  /// `outside`: an Arrived; nullptr in messages of the team.
  static void invoke(void* outside, team::Batch& batch) {
    if (outside != nullptr) {
      accept(*static_cast<Arrived*>(outside), *batch.next(), Leads{}, Wires{});
    } else if (batch.message().dropped ||
               (How == Kind::attempt && has_ended(*batch.message().core))) {
      drop_all<All>(batch);
    } else {
      queue_kept<Function, Root, How, All>(batch);
    }
  }

  static void late(const team::Message& message) {
    if (message.is_object) delete team::object_of(message);
    if constexpr (How != Kind::attempt) refuse_late(handler, message);
  }

  template <class... Ls, class... Ws>
  static void accept(Arrived& outside, const team::Message& message, TypeList<Ls...>,
                     TypeList<Ws...>) {
    team::with_arguments(message, All{}, [&](Ls&... leads, auto&... values) {
      TeamCore& core = *message.core;
      Objects::of(core).accept(std::unique_ptr<Invocation>(new One(
                                   Target::from(*message.prefix), core.from_world(message.source),
                                   Reply{leads...}, typename One::Values(stored<Ws>(values)...))),
                               &outside);
    });
  }
  /// A view owns its elements from here on.
  template <class W, class Value>
  static team::Storage<W> stored(Value& value) {
    if constexpr (wire::is_view_v<Value>) {
      return team::Storage<W>(value.begin(), value.end());
    } else {
      return std::move(value);
    }
  }

  template <class... Ls, class... Ws>
  static consteval std::uint32_t signature(TypeList<Ls...>, TypeList<Ws...>) {
    return type_signature<Ls..., Ws...>();
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline team::StaticHandler handler{name(), signature(Leads{}, Wires{}), Delivery::inlined,
                                            &invoke, &late};

  /// Epoch of an object, or the latest of those of its team among the arguments, if that is later.
  template <class... Args>
  static std::uint32_t epoch_of(const Address& address, const Args&... args) {
    if constexpr (sizeof...(Args) ==
                      std::tuple_size_v<typename One::Values> + (How == Kind::call) &&
                  has_handles(All{})) {
      return latest_epoch(address, All{}, args...);
    } else {
      return address.epoch;
    }
  }
  template <class... Ws>
  static consteval bool has_handles(TypeList<Ws...>) {
    return (is_handle_v<Ws> || ...);
  }
  template <class... Ws, class... Args>
  static std::uint32_t latest_epoch(const Address& address, TypeList<Ws...>, const Args&... args) {
    std::uint32_t epoch = address.epoch;
    const auto look = [&]<class W>(const W* /*type*/, const auto& arg) {
      if constexpr (is_handle_v<W>) {
        const W handle(arg);
        if (handle.address().team == address.team && handle.address().epoch > epoch)
          epoch = handle.address().epoch;
      }
    };
    (look(static_cast<const Ws*>(nullptr), args), ...);
    return epoch;
  }

  /// Sends an invocation to a member. `args` are the leads, and the arguments of the method.
  template <class... Args>
  static void send(Objects& objects, Rank to, const Target& target, Args&&... args) {
    send_to_target<All>(handler, objects, to, target, std::forward<Args>(args)...);
  }
  // Out of line, so that the ways inside of the team are inlined.
  /// Sends an invocation that is counted outside the team, in the context of the caller; see
  /// Outside.
  template <class... Args>
  [[gnu::noinline]] static void send_outside(const Place& place, Rank to, const Args&... args) {
    object::send_outside(place, to, handler, encoded(All{}, args...),
                         epoch_of(place.address, args...), 0, How == Kind::attempt);
  }
  /// Sends an invocation that is counted outside the team, in the given context; see Outside.
  template <class... Args>
  [[gnu::noinline]] static void send_outside_in(std::uint64_t context, const Place& place, Rank to,
                                                const Args&... args) {
    object::send_outside(place, to, handler, encoded(All{}, args...),
                         epoch_of(place.address, args...), context);
  }
  template <class W, class Arg>
  static void check_number(const Arg& arg) {
    if constexpr (may_cut_v<Arg, W>) {
      if (!holds<W>(arg)) refuse_number(handler, arg, naming::type_text<W>());
    }
  }
  template <class... Ws, class... Args>
  static std::vector<std::byte> encoded(TypeList<Ws...>, const Args&... args) {
    static_assert(team::check_arguments(TypeList<Ws...>{}, TypeList<Args...>{}));
    (check_number<Ws>(args), ...);
    return shoal::encoded<Ws...>(team::as_wire<Ws>(args)...);
  }
};

}  // namespace shoal::object
