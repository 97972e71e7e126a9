#pragma once
// Handlers, which run when a message arrives, and the table of static handlers, known by their
// type.

#include <shoal/archive.hpp>
#include <shoal/detail/base/signature.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/message_context.hpp>
#include <shoal/message_options.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace shoal {

namespace team {

/// Options of the handlers of models.
inline AmOptions model_options(std::string name) {
  return {.name = std::move(name), .own_order = true};
}

/// Handler and target of a message.
struct Route {
  std::uint32_t handler = 0;  // index with flag bits, below
  std::uint32_t signature = 0;
  Rank target;
  const net::RunPrefix* prefix = nullptr;  // with net::kPrefixBit in `handler`
};

struct OpenedMulticast;

/// A message as its receiver sees it.
struct Message {
  TeamCore* core;  // of the team that it belongs to
  Rank source;
  bool is_object;  // the arguments are one pointer to an ObjectMessage
  bool dropped;    // the team has failed: free what the message holds, run nothing
  std::span<const std::byte> arguments;
  const OpenedMulticast* multicast = nullptr;  // while its handler runs; else nullptr
  const net::RunPrefix* prefix = nullptr;      // valid with net::kPrefixBit, while its handler runs
};

/// Messages of one run that outlive the call of their handler, with their packet.
struct MessageRun {
  net::PacketHolder packet;
  const std::byte* first = nullptr;
  std::size_t size_bytes = 0;  // of the arguments of each
  std::size_t step = 0;        // from one to the next
  std::uint64_t count = 0;

  /// Returns its messages from `index` on.
  [[nodiscard]] MessageRun rest(std::uint64_t index) const;
};

/// Consecutive messages of a packet for one handler. One call handles a whole batch, so that a
/// processor can work on several messages at once.
class Batch {
 public:
  /// A batch of one message. next() returns it even if the team has failed.
  explicit Batch(const Message& message)
      : message_(message),
        at_(message.arguments.data()),
        size_(message.arguments.size()),
        left_(1) {}
  /// State that ends a batch early: a failure of `scope`, or a new number of `removals` of
  /// handlers. `mark` counts the messages that begin.
  struct Watch {
    const sched::TaskScope* scope;
    const std::atomic<std::uint32_t>& removals;
    sched::HandlerMark& mark;
  };
  /// An empty batch, of messages in `packet`, which compact() may replace.
  Batch(TeamCore& core, Rank source, const Watch& watch, net::Packet*& packet)
      : message_{&core, source, false, false, {}}, watch_(&watch), packet_(&packet) {}

  /// Returns the next message to run the handler for; nullptr if there is none, or if the team has
  /// failed or a handler was removed since look(). The message counts as taken even if the handler
  /// throws.
  [[nodiscard]] const Message* next() {
    if (left_ == 0 || (watch_ != nullptr && has_changed())) return nullptr;
    const Message& message = take();
    if (watch_ != nullptr) watch_->mark.begin();
    return &message;
  }

  /// Takes all messages that next() would return, and keeps them where they are. They are in the
  /// sender's window until their packet is released, or disowned. Only of a receiver's batch.
  [[nodiscard]] MessageRun keep();

  // --- the messenger's

  void start(const net::RunHeader& run, const std::byte* first) {
    at_ = first;
    size_ = run.size_bytes;
    step_ = run.step();
    left_ = run.count;
  }
  [[nodiscard]] std::uint64_t left() const { return left_; }
  /// Takes the next message, even if the team has failed or a handler was removed.
  const Message& take() {
    --left_;
    message_.arguments = {at_, size_};
    __builtin_prefetch(at_ + net::kPrefetchBytes);
    at_ += step_;
    return message_;
  }
  /// Shrinks the packet before a reference to it is kept: many nearly empty packets that are kept
  /// for long would take far more memory than the window accounts for.
  void compact();
  /// Whether the team has failed; next() compares with what is so now. acquire pairs with the
  /// release in DeferredReclaim::add(): a reader that misses a removed handler sees the failure.
  bool look() {
    failed_ = watch_->scope->failed();
    removals_ = watch_->removals.load(std::memory_order_acquire);
    return failed_;
  }
  [[nodiscard]] Message& message() { return message_; }

 private:
  [[nodiscard]] bool has_changed() const {
    return watch_->scope->failed() != failed_ ||
           watch_->removals.load(std::memory_order_acquire) != removals_;
  }

  Message message_;
  const std::byte* at_ = nullptr;
  std::size_t size_ = 0;
  std::size_t step_ = 0;
  std::uint64_t left_ = 0;
  const Watch* const watch_ = nullptr;
  net::Packet** const packet_ = nullptr;  // of a batch with more than one message
  bool failed_ = false;                   // when it looked
  std::uint32_t removals_ = 0;            // likewise
};

/// Decodes the arguments of each message and runs the handler behind `self`.
using Invoke = void (*)(void* self, Batch& batch);

/// Handles a message of a team that has ended on this rank; its core is that of the innermost
/// team around that one which has not. Frees what the message holds, also when it throws.
using Late = void (*)(const Message& message);

/// Text about a message for reports; leaves the message as it is.
using Describe = std::string (*)(const Message& message);

/// An Invoke of a function for one message.
template <void (*One)(void* self, const Message& message)>
void invoke_each(void* self, Batch& batch) {
  while (const Message* message = batch.next()) One(self, *message);
}

/// Type and place in the source of an instance handler: with its name they identify it.
struct HandlerSource {
  std::string_view spelled;    // the type, by the compiler
  const std::type_info& type;  // of the closure
  std::source_location place;  // where the program made it, or the model that it is of
};
template <class F>
HandlerSource source_of(const std::source_location& place) {
  return {naming::spelled<F>(), typeid(F), place};
}

/// One entry of a handler table. Pointers own it as this type, not as the type of each handler:
/// programs with many handlers compile faster so.
struct Handler : std::enable_shared_from_this<Handler> {
  virtual ~Handler() = default;

  std::string name;
  /// Hash of the argument types; of an instance handler in its table also of its name, the type of
  /// its closure and its place in the source.
  std::uint32_t signature = 0;
  std::uint32_t index = 0;     // of an instance handler, in its table
  std::source_location place;  // the same
  /// Where the handler runs.
  Delivery delivery = Delivery::inlined;
  int priority = 0;
  Invoke invoke = nullptr;
  void* self = nullptr;
  /// Of a static handler; nullptr: such messages wait, and are reported when nothing runs any more.
  Late late = nullptr;
  /// Of a static handler that carries something with a name of its own; nullptr: `name` says all.
  Describe describe = nullptr;
};

using net::kAboutBit;
using net::kIndexMask;
using net::kInstanceBit;
using net::kLargeBit;
using net::kMulticastBit;
using net::kObjectBit;
using net::kOwnOrderBit;
using net::ObjectMessage;

/// A handler that is known by its type alone. Registers itself before main(); its index is the same
/// in all processes that run the same binary.
class StaticHandler {
 public:
  StaticHandler(const StaticHandler&) = delete;
  StaticHandler& operator=(const StaticHandler&) = delete;
  StaticHandler(const char* name, std::uint32_t signature, Delivery delivery, Invoke invoke,
                Late late = nullptr, Describe describe = nullptr);
  /// Returns the index, after the first call of static_handlers(). Errors: CheckError for a handler
  /// from a library that was loaded later.
  [[nodiscard]] std::uint32_t index() const;
  [[nodiscard]] std::uint32_t signature() const { return handler_.signature; }

 private:
  friend class StaticTable;
  Handler handler_;
  int index_ = -1;
  StaticHandler* next_ = nullptr;
};

/// Returns the name of a function as users know it: for one of shoal itself, what it does.
[[nodiscard]] std::string shown_to_users(const std::string& name);
/// Returns all static handlers in an order that depends on their names only. The first call fixes
/// the set.
const std::vector<Handler>& static_handlers();
/// Returns a hash of the table of static handlers, which is equal in two processes if their tables
/// are.
std::uint64_t static_fingerprint();

/// Type on the wire for a parameter: the type that is encoded and decoded.
template <class Parameter>
using Wire = std::remove_cvref_t<Parameter>;

/// Type that an ObjectMessage keeps: views own their elements there.
template <class T>
using Storage = wire::Owner<T>;

template <class Parameter>
consteval bool check_parameter() {
  constexpr bool fits =
      !std::is_lvalue_reference_v<Parameter> || std::is_const_v<std::remove_reference_t<Parameter>>;
  static_assert(fits,
                "shoal: a handler cannot take a non-const reference: the argument is its own copy; "
                "take it by value, const& or &&");
  return fits;
}

/// Types of a handler's arguments, from its parameters after a context if it takes one.
template <class Parameters>
struct CallTraits;
template <class... Ps>
struct CallTraits<TypeList<Ps...>> {
  static constexpr bool has_context = false;
  using Wires = TypeList<Wire<Ps>...>;
  using Parameters = TypeList<Ps...>;
};
template <class First, class... Ps>
  requires HandlerContext<std::remove_cvref_t<First>>
struct CallTraits<TypeList<First, Ps...>> {
  static constexpr bool has_context = true;
  using Context = std::remove_cvref_t<First>;
  using Wires = TypeList<Wire<Ps>...>;
  using Parameters = TypeList<Ps...>;
};
template <class F>
struct FunctionTraits : CallTraits<ParametersOf<F>> {};

/// Placeholder of a refused message, which causes no further errors.
struct RefusedMessage {
  template <class... Args>
  void send(const Args&... /*args*/) const {}
};

template <class... Storages>
struct ArgumentsObject final : ObjectMessage {
  template <class... Args>
  explicit ArgumentsObject(std::in_place_t, Args&&... args) : values(std::forward<Args>(args)...) {}
  std::tuple<Storages...> values;
};

/// Argument of the handler for a parameter: a view of the kept value, or the value itself.
template <class W, class Value>
decltype(auto) as_argument(Value& value) {
  if constexpr (wire::is_view_v<W>) {
    return W(value);
  } else {
    return std::move(value);
  }
}

/// Reads the pointer that an object message carries.
inline ObjectMessage* object_of(const Message& message) {
  return net::object_at(message.arguments.data());
}
/// The pieces of an object message that came from another process, or nullptr.
inline const std::shared_ptr<net::Pieces>* pieces_of(const Message& message) {
  if (!net::is_received_at(message.arguments.data())) [[likely]]
    return nullptr;
  return &static_cast<net::ReceivedMessage*>(object_of(message))->pieces();
}
/// No other holder of the pieces is left: they may be changed.
inline bool is_only_owner(const std::shared_ptr<net::Pieces>& pieces) {
  if (pieces.use_count() != 1) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the drops of the others
  return true;
}

/// Calls f(values...) with the arguments of a message, decoded or as they were kept; or frees them
/// if the message is dropped.
template <class F, class... Ws>
void with_arguments(const Message& message, TypeList<Ws...>, const F& f) {
  if (message.is_object) {
    using Object = ArgumentsObject<Storage<Ws>...>;
    const std::unique_ptr<ObjectMessage> object(object_of(message));
    if (const auto* const pieces = pieces_of(message)) [[unlikely]] {
      if (message.dropped) return;
      auto values = decode_pieces<Ws...>(**pieces, is_only_owner(*pieces));
      std::apply(f, values);
      return;
    }
    if (!message.dropped) std::apply(f, static_cast<Object&>(*object).values);
  } else if (!message.dropped) {
    auto values = decode<Ws...>(message.arguments);
    std::apply(f, values);
  }
}

/// Calls `f` with the arguments of a message.
template <class F, class... Ws>
void decode_and_call(F& f, const Message& message, TypeList<Ws...> wires) {
  with_arguments(message, wires, [&](auto&... values) {
    if constexpr (FunctionTraits<F>::has_context) {
      using Context = typename FunctionTraits<F>::Context;
      f(ContextOf<Context>::get(MessageContext(*message.core, message.source)),
        as_argument<Ws>(values)...);
    } else {
      f(as_argument<Ws>(values)...);
    }
  });
}

template <class F, class... Ws>
void handle_all(F& f, Batch& batch, TypeList<Ws...> wires) {
  while (const Message* message = batch.next()) decode_and_call(f, *message, wires);
}

template <class... Ps>
consteval bool check_parameters(TypeList<Ps...>) {
  return (true && ... && check_parameter<Ps>());
}

template <class... Ws>
consteval std::uint32_t signature_of(TypeList<Ws...>) {
  return type_signature<Ws...>();
}

}  // namespace team
}  // namespace shoal
