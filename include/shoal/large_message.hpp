#pragma once
// Large active messages: one buffer travels from the sender's memory straight into the receiver's.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/pieces.hpp>
#include <shoal/detail/team/multicast.hpp>
#include <shoal/future.hpp>
#include <shoal/message.hpp>

#include <atomic>
#include <optional>
#include <source_location>
#include <span>
#include <tuple>

namespace shoal {

/// Functions of a recipient that only reads its payload; see read_only().
template <class Arrival, class PassedOn>
struct ReadOnly {
  /// Runs when the payload is there.
  Arrival arrival;
  /// Runs when the buffer may be written or freed.
  PassedOn passed_on;
};

/// Makes the arrival function of a recipient that only reads its payload. `arrival(data, args...)`,
/// which takes a std::span<const T>, runs as soon as the payload is there, while the recipient of a
/// multicast still forwards it to others. The buffer stays valid and unchanged until
/// `passed_on(data, args...)` runs, once, after `arrival` and when this rank has forwarded
/// everything; if it forwards nothing, right after `arrival`. `passed_on` takes a std::span<T>, and
/// may leave out the last arguments, or all. **Caller**: the progress context; with Delivery::task
/// perhaps the task of `arrival`. Neither function runs after the world has failed.
template <class Arrival, class PassedOn>
[[nodiscard]] ReadOnly<Arrival, PassedOn> read_only(Arrival arrival, PassedOn passed_on) {
  return {std::move(arrival), std::move(passed_on)};
}

namespace team {

/// Announcement of a payload, before the encoded arguments.
struct LargeHeader {
  std::uint64_t size_bytes = 0;
  std::uint64_t count = 0;          // elements
  std::uint64_t local_payload = 0;  // address in this process, or 0: it comes by the transport
  std::uint64_t local_release = 0;  // address of the sender's CountedEvent, with local_payload
  std::uint32_t tag = 0;            // of the transport, without local_payload
  std::uint32_t checked = 0;        // 1: `checksum` is that of the payload
  std::uint64_t checksum = 0;
};

/// Event that runs in the progress context of a rank. The team counts it as a message from its
/// construction to its destruction, whether it ran or sending failed before.
class CountedEvent : public net::Completion {
 public:
  CountedEvent(TeamCore& core, std::string name) : core_(core), name_(std::move(name)) {
    core_.counts.message_queued(core_.scheduler().count_slot());
  }
  ~CountedEvent() override { core_.counts.messages_processed(core_.scheduler().count_slot()); }
  /// Runs act() unless the team has failed, and deletes this.
  void run() final;
  /// For traces: the phase of large message `id` that this event ends.
  void set_phase(std::uint64_t id, Rank peer, const char* phase) {
    message_id_ = id;
    peer_ = peer;
    phase_ = phase;
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  virtual void act() = 0;
  [[nodiscard]] TeamCore& core() const { return core_; }

 private:
  TeamCore& core_;
  std::string name_;
  std::uint64_t message_id_ = 0;
  Rank peer_;
  const char* phase_ = nullptr;
};

/// Runs a function once, as an event.
template <class F>
class FunctionEvent final : public CountedEvent {
 public:
  FunctionEvent(TeamCore& core, std::string name, F function)
      : CountedEvent(core, std::move(name)), function_(std::move(function)) {}

 private:
  void act() override { function_(); }
  F function_;
};
template <class F>
std::unique_ptr<CountedEvent> make_event(TeamCore& core, const std::string& name, F f) {
  return std::unique_ptr<CountedEvent>(new FunctionEvent<F>(core, name, std::move(f)));
}

struct Payload {
  std::span<const std::byte> bytes;
  std::size_t count;       // of elements
  bool is_checked = true;  // by a checksum, in runs with checks; else its model does that
};

/// Sends the header and the arguments, and the payload after them; `release` runs on this rank when
/// the payload may be reused.
void send_large(TeamCore& core, const Route& route, const Payload& payload,
                std::span<const std::byte> arguments, std::unique_ptr<CountedEvent> release);

/// Receives the payload in `place`, and then runs `arrived`, at once or later.
void receive_large(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                   std::unique_ptr<CountedEvent> arrived);
/// Multicasts the payload with its arguments; `release` runs on this rank, in a handler, when the
/// payload may be reused.
void multicast_large(TeamCore& core, const MulticastRoute& route, const Recipients& recipients,
                     const Payload& payload, std::span<const std::byte> arguments,
                     Function<void()> release);
/// Drops the payload of a message whose team has failed.
void drop_large(const Message& message, const LargeHeader& header);
/// A Function of an object that need not be copied.
template <class F>
Function<void()> share_function(F f) {
  void (*const destroy)(void*) = [](void* object) { delete static_cast<F*>(object); };
  std::shared_ptr<void> shared(static_cast<void*>(new F(std::move(f))), destroy);
  return [shared = std::move(shared)] { (*static_cast<F*>(shared.get()))(); };
}
/// Takes part in the multicast of a payload that `message` announces.
void join_multicast(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                    MulticastSteps steps);
/// Receives a payload, by receive_large() or as part of a multicast, in `place`, and then calls
/// `arrived`; drops it, and throws, where that cannot be prepared.
template <class F>
void receive_payload(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                     const std::string& name, F arrived) {
  if (message.multicast != nullptr) {
    return join_multicast(message, header, place, {.done = share_function(std::move(arrived))});
  }
  std::unique_ptr<CountedEvent> event;
  try {
    event = make_event(*message.core, name, std::move(arrived));
  } catch (...) {
    drop_large(message, header);  // the sender is not to wait for ever
    throw;
  }
  receive_large(message, header, place, std::move(event));
}
/// Receives a payload for a recipient that only reads it: `steps.arrived` runs when the payload is
/// there, and `steps.done` afterwards, when this rank has forwarded it.
void receive_in_steps(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                      const std::string& name, MulticastSteps steps);
void drop_payload(const Message& message, const LargeHeader& header);
/// Reads the header of a large message; sets `arguments` to the bytes after it.
LargeHeader split_large(const Message& message, std::span<const std::byte>& arguments);
/// A payload has arrived. **Errors**: CheckError if its handler was removed since it was announced.
void check_live(const TeamCore& core, const Handler& handler);
[[noreturn]] void refuse_buffer(const std::string& name, std::size_t wanted, std::size_t given);

/// Runs `function` as a task made from a message.
void submit_delivered(TeamCore& core, std::string name, int priority, Function<void()> function);

/// Sizes of the payloads of one LargeMessage, in programs that are built with debug checks.
class PayloadSizes {
 public:
  /// Writes a warning to standard error, once, if the first payloads were on average so small that
  /// an ActiveMessage would have been faster.
  void note(const std::string& name, std::size_t size_bytes);

 private:
  // relaxed: statistics
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> sum_bytes_{0};
};

template <class... Ts>
consteval std::size_t length_of(TypeList<Ts...> /*list*/) {
  return sizeof...(Ts);
}
/// Number of parameters of F; `most`, if they cannot be listed.
template <class F>
consteval std::size_t parameter_count(std::size_t most) {
  if constexpr (PlainFunction<F>) {
    return length_of(typename FunctionTraits<F>::Wires{});
  } else {
    return most;
  }
}

/// Calls `f` with as many of the arguments as it has parameters.
template <class F, class... Args>
decltype(auto) call_with_first(F& f, Args&&... args) {
  const auto call = [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
    auto all = std::forward_as_tuple(std::forward<Args>(args)...);
    return f(std::forward<std::tuple_element_t<I, decltype(all)>>(std::get<I>(all))...);
  };
  return call(std::make_index_sequence<parameter_count<F>(sizeof...(Args))>());
}
/// Whether F can be called so, with at least `least` of the arguments.
template <class F, class... Args>
consteval bool takes_first(std::size_t least) {
  constexpr std::size_t kCount = parameter_count<F>(sizeof...(Args));
  if constexpr (kCount > sizeof...(Args)) {
    return false;
  } else {
    return kCount >= least && []<std::size_t... I>(std::index_sequence<I...>) {
      return std::is_invocable_v<F&, std::tuple_element_t<I, std::tuple<Args...>>...>;
    }(std::make_index_sequence<kCount>());
  }
}

/// Parameters after the first one, as they travel.
template <class Wires>
struct BehindFirst {
  using type = TypeList<>;
};
template <class First, class... Ws>
struct BehindFirst<TypeList<First, Ws...>> {
  using type = TypeList<Ws...>;
};
template <class F, bool listed = PlainFunction<F>>
struct WiresBehindFirst : BehindFirst<typename FunctionTraits<F>::Wires> {};
template <class F>
struct WiresBehindFirst<F, false> : BehindFirst<TypeList<>> {};
template <class Arrival, class PassedOn>
struct WiresBehindFirst<ReadOnly<Arrival, PassedOn>, false> : WiresBehindFirst<Arrival> {};

/// Arguments that travel with a payload: the longer list of the two functions at the receiver.
template <class Buffer, class Arrival>
struct LargeWires {
  using OfBuffer = typename WiresBehindFirst<Buffer>::type;
  using OfArrival = typename WiresBehindFirst<Arrival>::type;
  using type =
      std::conditional_t<(length_of(OfArrival{}) > length_of(OfBuffer{})), OfArrival, OfBuffer>;
};

/// Functions of the recipient, from the one given as `arrival`.
template <class T, class Given>
struct ArrivalOf {
  using Data = std::span<T>;
  using Function = Given;
  using PassedOn = void (*)();
};
template <class T, class Arrival, class PassedOnFn>
struct ArrivalOf<T, ReadOnly<Arrival, PassedOnFn>> {
  using Data = std::span<const T>;
  using Function = Arrival;
  using PassedOn = PassedOnFn;
};

template <class T, class Buffer, class Arrival, class Release, class... Ws>
consteval bool check_large_functions(TypeList<Ws...> /*wires*/) {
  constexpr bool buffer =
      PlainFunction<Buffer> && takes_first<Buffer, std::size_t, const Ws&...>(1);
  static_assert(buffer,
                "shoal: the buffer function of a large message takes the number of elements and "
                "then the first of the arguments that travel: none of them auto");
  using Given = ArrivalOf<T, Arrival>;
  constexpr bool arrival =
      takes_first<typename Given::Function, typename Given::Data, const Ws&...>(1);
  static_assert(arrival,
                "shoal: the arrival function of a large message takes std::span<T>, in a "
                "read_only() std::span<const T>, and then the first of the arguments that travel");
  constexpr bool passed_on = takes_first<typename Given::PassedOn, std::span<T>, const Ws&...>(0);
  static_assert(passed_on,
                "shoal: the second function of a read_only() takes std::span<T> and then the first "
                "of the arguments that travel, or nothing");
  constexpr bool release = takes_first<Release, const Ws&...>(0);
  static_assert(release,
                "shoal: the release function of a large message takes the first of the arguments "
                "that travel, or nothing: what only the sender needs is captured by on_release()");
  return buffer && arrival && passed_on && release;
}

}  // namespace team

/// Size of payloads from which on a large message is faster than an ActiveMessage that carries a
/// vector: measured between processes, see docs/performance.md. Within a process it is smaller.
/// Arguments of this size travel outside of packets, too.
inline constexpr std::size_t kLargeMessageBytes = net::kPieceBytes;

/// A function of the sender that runs when the payload of one send() may be reused; see
/// on_release().
template <class F>
struct OnRelease {
  /// Function that runs on the sender.
  F function;
};

/// The last argument of LargeMessage::send(): `function()` runs on the sender, once, after the
/// release function of the message. Its captures stay on the sender and do not travel.
template <class F>
[[nodiscard]] OnRelease<F> on_release(F function) {
  static_assert(std::is_invocable_v<F&>,
                "shoal: the function of on_release() takes no parameters: let it capture what it "
                "needs");
  return {std::move(function)};
}

namespace team {

template <class T>
inline constexpr bool is_on_release_v = false;
template <class F>
inline constexpr bool is_on_release_v<OnRelease<F>> = true;

}  // namespace team

/// An active message whose first argument, a span of T, is moved by the transport from the sender's
/// memory into memory that the receiver supplies, without a copy in between (within a process: one
/// copy). Made by Team::make_large_am() in the same order on all ranks.
///
/// Functions (tasktorrent paper, section II-A2): `buffer(count, args...)` on the receiver returns a
/// span of exactly `count` elements; `arrival(data, args...)` on the receiver processes them;
/// `release(args...)` on the sender says that the payload may be reused. The arguments travel. A
/// function may leave out the last of them, or all; what only the sender needs when one payload is
/// released does not travel but is captured by on_release(). A recipient that does not write to the
/// payload says so by read_only(), in place of `arrival`.
///
/// **Size**: worth it for payloads from kLargeMessageBytes on; smaller ones are faster in an
/// ActiveMessage, as a std::vector or std::span. In programs that are compiled without NDEBUG a
/// message with payloads far below that is named once on standard error.
/// **Ordering**: `buffer` runs in the order of the messages between the two ranks; `arrival` may
/// run after handlers of later messages. **Lifetime**: the payload stays valid and unchanged until
/// `release` ran; the buffer stays valid until `arrival` ran.
template <class T, class... Wires>
class LargeMessage {
  static_assert(std::is_trivially_copyable_v<T>,
                "shoal: the payload of a large message is copied byte by byte: T must be trivially "
                "copyable");
  static_assert((!wire::is_view_v<Wires> && ...),
                "shoal: the arguments beside a large payload are kept: take std::vector or "
                "std::string instead of views");

 public:
  /// Function that supplies the memory of the receiver.
  using Buffer = Function<std::span<T>(std::size_t, const Wires&...)>;
  /// Function that processes the elements on the receiver.
  using Arrival = Function<void(std::span<T>, const Wires&...)>;
  /// Function that runs on the sender when the payload may be reused.
  using Release = Function<void(const Wires&...)>;

  /// @cond internals
  /// Called by Team::make_large_am().
  template <class BufferFn, class ArrivalFn, class ReleaseFn>
  LargeMessage(TeamCore& core, BufferFn buffer, ArrivalFn arrival, ReleaseFn release,
               const AmOptions& options, const std::source_location& place)
      : core_(&core), handler_(static_cast<team::Handler*>(new Instance)) {
    Instance& instance = instance_of(*handler_);
    instance.buffer = with_first<std::size_t>(std::move(buffer));
    set_arrival(instance, std::move(arrival));
    instance.release_takes_any = team::parameter_count<ReleaseFn>(sizeof...(Wires)) > 0;
    if constexpr (team::parameter_count<ReleaseFn>(sizeof...(Wires)) > 0) {
      instance.release = with_first<>(std::move(release));
    } else {
      instance.bare_release = std::move(release);
    }
    instance.arrive_as_task = options.delivery == Delivery::task;
    instance.signature = kTypes;
    instance.priority = options.priority;
    instance.self = &instance;
    instance.invoke = &team::invoke_each<&LargeMessage::on_header>;
    using Functions = TypeList<BufferFn, ArrivalFn, ReleaseFn>;
    index_ = core.add_handler(handler_, options.name,
                              {naming::spelled<LargeMessage>(), typeid(Functions), place});
    signature_ = instance.signature;
    if (options.own_order) flags_ |= team::kOwnOrderBit;
  }
  /// @endcond
  ~LargeMessage() {
    if (core_ != nullptr) core_->remove_handler(index_);
  }
  /// The moved-from message cannot be sent any more.
  LargeMessage(LargeMessage&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)),
        handler_(std::move(other.handler_)),
        index_(other.index_),
        flags_(other.flags_),
        signature_(other.signature_) {}
  LargeMessage& operator=(LargeMessage&&) = delete;

  /// Sends `payload` (0 bytes to beyond 2^31) and copies of the arguments to `target`; an
  /// on_release() may follow them.
  ///
  /// **Caller**, **Blocks**, **Errors**: as ActiveMessage::send(). **Cost**: no copy of the payload
  /// in this process.
  template <class... Args>
  void send(Rank target, std::span<const T> payload, Args&&... args) const {
    deliver(target, payload, std::forward<Args>(args)...);
  }
  /// Sends `payload` and copies of the arguments once to each recipient, along a tree. The payload
  /// travels in segments that a recipient forwards while others arrive. `arrival` of a recipient
  /// runs when it has forwarded everything, and its buffer stays unchanged until then; with
  /// read_only(), `arrival` runs as soon as the payload is there. `release` runs once. **Caller**,
  /// **Blocks**, **Errors**: as Team::multicast().
  template <class... Args>
  void multicast(const Recipients& recipients, std::span<const T> payload, Args&&... args) const {
    deliver(recipients, payload, std::forward<Args>(args)...);
  }

  /// Sends `payload` and copies of the arguments to `target`; returns a future that is ready when
  /// the payload may be reused, after the release function has run. It may be dropped. If the team
  /// fails before, the future gets the failure, or a BrokenPromise. See send().
  template <class... Args>
  [[nodiscard]] Future<void> send_async(Rank target, std::span<const T> payload,
                                        const Args&... args) const {
    return deliver_async(target, payload, args...);
  }
  /// Multicasts `payload` and copies of the arguments; returns a future that is ready when the
  /// payload may be reused. See multicast() and send_async().
  template <class... Args>
  [[nodiscard]] Future<void> multicast_async(const Recipients& recipients,
                                             std::span<const T> payload,
                                             const Args&... args) const {
    return deliver_async(recipients, payload, args...);
  }

  /// Number of the handler in its team, the same on all members.
  [[nodiscard]] std::uint32_t number() const { return index_; }

  /// @cond internals
  /// Switches checksums off, for a model that changes payloads in flight and checks them itself.
  /// Called before send().
  void leave_unchecked() const { instance_of(*handler_).is_checked = false; }
  /// @endcond

 private:
  template <class To, class... Args>
  Future<void> deliver_async(const To& target, std::span<const T> payload,
                             const Args&... args) const {
    Promise<void> released(core_->scheduler(), sched::StaticName{"the release of a payload"});
    Future<void> future = released.future();
    deliver(target, payload, args...,
            on_release([released = std::move(released)]() mutable { released.set_value(); }));
    return future;
  }
  template <class To, class... Args>
  void deliver(const To& target, std::span<const T> payload, Args&&... args) const {
    constexpr std::size_t kCount = sizeof...(Args);
    if constexpr (kCount == sizeof...(Wires) + 1) {
      auto all = std::forward_as_tuple(std::forward<Args>(args)...);
      using LastArgument = std::tuple_element_t<kCount - 1, decltype(all)>;
      using Last = std::remove_cvref_t<LastArgument>;
      static_assert(team::is_on_release_v<Last>,
                    "shoal: the number of arguments differs from the functions' parameters");
      if constexpr (team::is_on_release_v<Last>) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          send_fitting(target, payload,
                       std::forward<LastArgument>(std::get<kCount - 1>(all)).function,
                       std::get<I>(all)...);
        }(std::make_index_sequence<sizeof...(Wires)>());
      }
    } else {
      send_fitting(target, payload, nullptr, args...);
    }
  }

  struct Instance : team::Handler {
    Buffer buffer;
    Arrival arrival;
    Arrival passed_on;              // if the payload is only read
    Release release;                // if it takes any arguments
    Function<void()> bare_release;  // else
    bool release_takes_any = false;
    bool arrive_as_task = false;
    bool is_checked = true;
    team::PayloadSizes sizes;
  };
  static Instance& instance_of(team::Handler& handler) { return static_cast<Instance&>(handler); }

  /// A payload that is only read.
  class Reading {
   public:
    Reading(std::shared_ptr<team::Handler> handler, std::span<T> place, std::tuple<Wires...> values)
        : place(place), handler_(std::move(handler)), values_(std::move(values)) {}

    const std::span<T> place;
    [[nodiscard]] const Instance& instance() const { return instance_of(*handler_); }

    void arrive(const TeamCore& core) {
      team::check_live(core, *handler_);
      std::apply([this](const auto&... args) { instance().arrival(place, args...); }, values_);
      finish();
    }
    // acq_rel: the last one runs after all that the other one did.
    void finish() {
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
      std::apply([this](const auto&... args) { instance().passed_on(place, args...); }, values_);
    }

   private:
    const std::shared_ptr<team::Handler> handler_;
    const std::tuple<Wires...> values_;
    std::atomic<int> unfinished_{2};  // `arrival`, and the passing on
  };

  template <class ArrivalFn>
  static void set_arrival(Instance& instance, ArrivalFn arrival) {
    instance.arrival = with_first<std::span<T>>(std::move(arrival));
  }
  template <class ArrivalFn, class PassedOnFn>
  static void set_arrival(Instance& instance, ReadOnly<ArrivalFn, PassedOnFn> functions) {
    set_arrival(instance, std::move(functions.arrival));
    instance.passed_on = with_first<std::span<T>>(std::move(functions.passed_on));
  }

  // `f` with the parameters that it leaves out.
  template <class... First, class F>
  static auto with_first(F f) {
    return [f = std::move(f)](First... first, const Wires&... values) mutable -> decltype(auto) {
      return team::call_with_first(f, std::move(first)..., values...);
    };
  }

  // Differs from that of an ActiveMessage with the same parameters.
  static constexpr std::uint32_t kTypes =
      type_signature<team::LargeHeader, std::span<const T>, Wires...>();

  template <class To, class Then, class... Args>
  void send_fitting(const To& target, std::span<const T> payload, Then&& then,
                    const Args&... args) const {
    constexpr bool fits = team::check_arguments(TypeList<Wires...>{}, TypeList<Args...>{});
    if constexpr (fits) {
      (team::check_number<Wires>(*core_, flags_ | index_, args), ...);
      send_wires(target, payload, std::forward<Then>(then), team::as_wire<Wires>(args)...);
    }
  }

  template <class To, class Then>
  void send_wires(const To& target, std::span<const T> payload, Then&& then,
                  const Wires&... wires) const {
#ifndef NDEBUG
    instance_of(*handler_).sizes.note(handler_->name, payload.size_bytes());
#endif
    std::vector<std::byte> arguments = encoded<Wires...>(wires...);
    const auto handler = flags_ | core_->flag_bits() | index_;
    const team::Payload bytes{std::as_bytes(payload), payload.size(),
                              instance_of(*handler_).is_checked};
    const auto use = [&](auto release) {
      if constexpr (std::is_same_v<To, Recipients>) {
        team::multicast_large(*core_, {handler, signature_}, target, bytes, arguments,
                              team::share_function(std::move(release)));
      } else {
        team::send_large(*core_, {handler | team::kLargeBit, signature_, target}, bytes, arguments,
                         team::make_event(*core_, handler_->name, std::move(release)));
      }
    };
    with_release(use, std::forward<Then>(then), wires...);
  }

  // Keeps of the arguments only what `release` takes.
  template <class Use, class Then>
  void with_release(const Use& use, Then&& then, const Wires&... wires) const {
    const auto finish = [](auto& function) {
      if constexpr (!std::is_null_pointer_v<std::remove_cvref_t<decltype(function)>>) function();
    };
    if (!instance_of(*handler_).release_takes_any) {
      return use([handler = handler_, finish, then = std::forward<Then>(then)]() mutable {
        instance_of(*handler).bare_release();
        finish(then);
      });
    }
    use([handler = handler_, values = std::make_tuple(wires...), finish,
         then = std::forward<Then>(then)]() mutable {
      std::apply(instance_of(*handler).release, values);
      finish(then);
    });
  }

  static void on_header(void* self, const team::Message& message) {
    std::span<const std::byte> rest;
    const team::LargeHeader header = team::split_large(message, rest);
    if (message.dropped) {
      team::drop_payload(message, header);
      return;
    }
    // The handler's own reference: the event may outlive the LargeMessage.
    Instance& instance = *static_cast<Instance*>(self);
    std::shared_ptr<team::Handler> handler = instance.shared_from_this();
    std::span<T> place;
    std::optional<std::tuple<Wires...>> values;
    try {
      values.emplace(decode<Wires...>(rest));
      const auto get_buffer = [&](const auto&... args) {
        return instance.buffer(header.count, args...);
      };
      place = std::apply(get_buffer, *values);
      if (place.size() != header.count) {
        team::refuse_buffer(instance.name, header.count, place.size());
      }
    } catch (...) {
      team::drop_payload(message, header);  // the sender is not to wait for ever
      throw;
    }
    const std::span<std::byte> bytes = std::as_writable_bytes(place);
    if (instance.passed_on) {
      return receive_reading(
          message, header,
          std::make_shared<Reading>(std::move(handler), place, std::move(*values)));
    }
    auto arrive = [core = message.core, handler, place, values = std::move(*values)] {
      team::check_live(*core, *handler);
      std::apply([&](const auto&... args) { instance_of(*handler).arrival(place, args...); },
                 values);
    };
    if (!instance.arrive_as_task) {
      team::receive_payload(message, header, bytes, instance.name, std::move(arrive));
      return;
    }
    team::receive_payload(message, header, bytes, instance.name,
                          [core = message.core, handler, arrive = std::move(arrive)] {
                            team::submit_delivered(*core, handler->name, handler->priority, arrive);
                          });
  }

  static void receive_reading(const team::Message& message, const team::LargeHeader& header,
                              const std::shared_ptr<Reading>& reading) {
    const auto done = [reading] { reading->finish(); };
    Function<void()> arrived = [core = message.core, reading] { reading->arrive(*core); };
    const Instance& instance = reading->instance();
    if (instance.arrive_as_task) {
      arrived = [core = message.core, reading, arrive = std::move(arrived)] {
        const Instance& to = reading->instance();
        team::submit_delivered(*core, to.name, to.priority, arrive);
      };
    }
    team::receive_in_steps(message, header, std::as_writable_bytes(reading->place), instance.name,
                           {.arrived = std::move(arrived), .done = done});
  }

  TeamCore* core_;
  std::shared_ptr<team::Handler> handler_;
  std::uint32_t index_ = 0;
  std::uint32_t flags_ = team::kInstanceBit;
  std::uint32_t signature_ = 0;
};

namespace team {

template <class T, class Wires>
struct LargeTypeOf;
template <class T, class... Ws>
struct LargeTypeOf<T, TypeList<Ws...>> {
  using type = LargeMessage<T, Ws...>;
};

}  // namespace team

/// The type that Team::make_large_am<T>() returns for buffer and arrival functions of these types.
template <class T, class Buffer, class Arrival = Buffer>
using LargeMessageFor = typename team::LargeTypeOf<
    T, typename team::LargeWires<std::decay_t<Buffer>, std::decay_t<Arrival>>::type>::type;

}  // namespace shoal
