#pragma once
// The receiving end of invocations: handlers, which decode them, and their results.

#include <shoal/am/handler.hpp>
#include <shoal/object/method.hpp>

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

/// Invocations that are kept in one object, at most.
inline constexpr std::size_t kTogetherMax = 16;

/// An unwanted result, or the promise that gets it.
template <class Result, Kind How>
struct ReplyTo {
  template <class Run>
  void from(Objects& /*objects*/, Run run) const {
    static_cast<void>(run());
  }
  void miss(Objects& /*objects*/, const std::string& text) const {
    if constexpr (How == Kind::plain) throw CheckError(text);
  }
};
/// The promise that gets the result.
template <class Result>
struct ReplyTo<Result, Kind::call> {
  RemotePromise<Result> promise;

  template <class Run>
  void from(Objects& objects, Run run) const {
    Team& team = objects.team();
    try {
      if constexpr (std::is_void_v<Result>) {
        run();
        team.fulfill(promise);
      } else {
        team.fulfill(promise, Result(run()));
      }
    } catch (const CancelledError&) {
      throw;  // the team has failed, and the caller hears of that
    } catch (...) {
      team.fail(promise, describe(std::current_exception()));
    }
  }
  void miss(Objects& objects, const std::string& text) const { objects.team().fail(promise, text); }
};

/// Invocations of one method, with their arguments.
template <auto Function, class Root, Kind How>
class TypedInvocation final : public Invocation {
 public:
  using M = Method<Function, Root>;
  using Values = typename WiresOf<typename M::Traits::Parameters>::Values;
  using Reply = ReplyTo<typename M::Result, How>;

  /// The first of up to `expected` more.
  TypedInvocation(const Target& target, Rank source, std::uint64_t expected, const Reply& reply,
                  Values&& values)
      : Invocation(target, source), first_(reply, std::move(values)) {
    if (expected > 0) more_.reserve(std::min<std::uint64_t>(expected, kMoreMax));
  }
  [[nodiscard]] bool has_room() const { return more_.size() < more_.capacity(); }
  /// Adds one behind the others. **Precondition**: has_room().
  void add(const Reply& reply, Values&& values) {
    more_.emplace_back(reply, std::move(values));
    count_one();
  }

  void run(Objects& objects, void* representative) override {
    Arguments& one = begin();
    one.reply.from(
        objects, [&]() -> decltype(auto) { return M::call(objects, representative, one.values); });
  }
  void miss(Objects& objects, const std::string& text) override {
    begin().reply.miss(objects, text);
  }
  [[nodiscard]] std::unique_ptr<Invocation> split() override {
    std::unique_ptr<TypedInvocation> rest;
    while (left() > 0) {
      const std::uint32_t expected = left() - 1;
      Arguments& one = begin();
      if (rest != nullptr) {
        rest->add(one.reply, std::move(one.values));
      } else {
        rest = std::make_unique<TypedInvocation>(target(), source(), expected, one.reply,
                                                 std::move(one.values));
      }
    }
    return rest;
  }
  [[nodiscard]] std::string method() const override {
    return naming::readable(pretty(), "Function");
  }
  static const char* pretty() { return __PRETTY_FUNCTION__; }

 private:
  struct Arguments {
    // clang 16 crashes where such a member is initialized as part of an aggregate.
    Arguments(const Reply& to, Values&& given) : reply(to), values(std::move(given)) {}
    [[no_unique_address]] Reply reply;
    Values values;
  };
  static constexpr std::size_t kTogetherBytes = 2048;
  static constexpr std::size_t kMoreMax =
      std::clamp<std::size_t>(kTogetherBytes / sizeof(Arguments), 1, kTogetherMax) - 1;
  using Allocator = std::conditional_t<(alignof(Arguments) <= sync::detail::kBlockGrain),
                                       sync::BlockAllocator<Arguments>, std::allocator<Arguments>>;

  Arguments& begin() {
    const std::uint32_t index = begin_one();
    return index == 0 ? first_ : more_[index - 1];
  }

  Arguments first_;
  std::vector<Arguments, Allocator> more_;
};

/// Sends the wires of `handler` with the target as their prefix.
template <class Wires, class... Args>
void send_to_target(const messaging::StaticHandler& handler, Objects& objects, Rank to,
                    const Target& target, Args&&... args) {
  messaging::Channel& channel = objects.channel();
  const net::RunPrefix prefix = target.to_prefix();
  messaging::send_message(
      channel,
      {handler.index() | channel.flag_bits() | net::kPrefixBit, handler.signature(), to, &prefix},
      Wires{}, std::forward<Args>(args)...);
}

/// Sends an invocation that is counted outside the object's team, with its arguments as bytes: to
/// `to`, or through rank 0 of the team if this rank is no member.
void send_outside(const Place& place, Rank to, const messaging::StaticHandler& handler,
                  std::vector<std::byte> arguments);

/// Invocations of a batch, which are queued together. `One`: their class.
template <class One>
class Arrivals {
 public:
  explicit Arrivals(messaging::Batch& batch) : batch_(batch) {}

  void add(const messaging::Message& message, const typename One::Reply& reply,
           typename One::Values&& values) {
    if (last_ != nullptr) {
      if (last_->has_room()) return last_->add(reply, std::move(values));
      list_.push(std::move(last_));
    }
    channel_ = message.channel;
    last_ =
        std::make_unique<One>(Target::from(*message.prefix), channel_->from_world(message.source),
                              batch_.left(), reply, std::move(values));
  }
  void queue(const Outside* outside) {
    if (last_ == nullptr) return;
    list_.push(std::move(last_));
    Objects::of(*channel_).accept(std::move(list_), outside);
  }

 private:
  messaging::Batch& batch_;
  messaging::Channel* channel_ = nullptr;
  InvocationList list_;
  std::unique_ptr<One> last_;
};

/// Queues the invocations of a batch: `accept(message, arrivals)` decodes one.
template <class One, class Accept>
void accept_batch(messaging::Batch& batch, const Outside* outside, Accept accept) {
  Arrivals<One> arrivals(batch);
  try {
    while (const messaging::Message* message = batch.next()) accept(*message, arrivals);
  } catch (...) {  // those before it have arrived
    arrivals.queue(outside);
    throw;
  }
  arrivals.queue(outside);
}

template <class... As, class... Bs>
TypeList<As..., Bs...> joined(TypeList<As...>, TypeList<Bs...>);

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

  /// `outside`: see arrive_from_outside(); nullptr in messages of the team.
  static void invoke(void* outside, messaging::Batch& batch) {
    accept_batch<One>(batch, static_cast<const Outside*>(outside),
                      [](const messaging::Message& message, Arrivals<One>& arrivals) {
                        accept(message, arrivals, Leads{}, Wires{});
                      });
  }

  template <class... Ls, class... Ws>
  static void accept(const messaging::Message& message, Arrivals<One>& arrivals, TypeList<Ls...>,
                     TypeList<Ws...>) {
    const auto keep = [&](const Ls&... leads, auto&... values) {
      arrivals.add(message, Reply{leads...}, typename One::Values(stored<Ws>(values)...));
    };
    if (message.is_object) {
      using Object = messaging::ArgumentsObject<Ls..., messaging::Storage<Ws>...>;
      const std::unique_ptr<Object> object(static_cast<Object*>(messaging::object_of(message)));
      if (!message.dropped) std::apply(keep, object->values);
    } else if (!message.dropped) {
      auto decoded = decode<Ls..., Ws...>(message.arguments);
      std::apply(keep, decoded);
    }
  }
  /// A view owns its elements from here on.
  template <class W, class Value>
  static messaging::Storage<W> stored(Value& value) {
    if constexpr (wire::is_view_v<Value>) {
      return messaging::Storage<W>(value.begin(), value.end());
    } else {
      return std::move(value);
    }
  }

  template <class... Ls, class... Ws>
  static consteval std::uint32_t signature(TypeList<Ls...>, TypeList<Ws...>) {
    return type_signature<Ls..., Ws...>();
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline messaging::StaticHandler handler{name(), signature(Leads{}, Wires{}),
                                                 Delivery::inlined, &invoke};

  /// Arguments: the leads, and those of the method.
  template <class... Args>
  static void send(Objects& objects, Rank to, const Target& target, Args&&... args) {
    send_to_target<All>(handler, objects, to, target, std::forward<Args>(args)...);
  }
  /// The same from outside the team.
  template <class... Args>
  static void send_outside(const Place& place, Rank to, const Args&... args) {
    object::send_outside(place, to, handler, encoded(All{}, args...));
  }
  template <class... Ws, class... Args>
  static std::vector<std::byte> encoded(TypeList<Ws...>, const Args&... args) {
    static_assert(messaging::check_arguments(TypeList<Ws...>{}, TypeList<Args...>{}));
    const auto encode_all = [](const auto&... wires) {
      std::vector<std::byte> bytes(encoded_size<Ws...>(wires...));
      encode<Ws...>(std::span(bytes), wires...);
      return bytes;
    };
    return encode_all(messaging::as_wire<Ws>(args)...);
  }
};

}  // namespace shoal::object
