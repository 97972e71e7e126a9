#pragma once
// Large active messages: one buffer travels from the sender's memory straight into the receiver's.

#include <shoal/am/active_message.hpp>

#include <functional>
#include <optional>
#include <span>

namespace shoal {

namespace messaging {

/// What announces a payload; stands before the encoded arguments.
struct LargeHeader {
  std::uint64_t size_bytes = 0;
  std::uint64_t count = 0;          // elements
  std::uint64_t local_payload = 0;  // address in this process, or 0: it comes by the transport
  std::uint64_t local_release = 0;  // address of the sender's ReleaseEvent, with local_payload
  std::uint32_t tag = 0;            // of the transport, without local_payload
  std::uint32_t checked = 0;        // 1: `checksum` is that of the payload
  std::uint64_t checksum = 0;
};

/// Runs on a rank's progress, as the end of a counted happening: from the constructor to the
/// destructor, be it that it ran or that sending failed before.
class CountedEvent : public net::Event {
 public:
  CountedEvent(Messenger& messenger, std::string name)
      : messenger_(messenger), name_(std::move(name)) {
    messenger_.scope().count_queued(messenger_.scheduler().count_slot());
  }
  ~CountedEvent() override {
    messenger_.scope().count_processed(messenger_.scheduler().count_slot());
  }
  /// Runs act() unless the scope has failed, and deletes this.
  void run() final;

 protected:
  virtual void act() = 0;
  [[nodiscard]] Messenger& messenger() const { return messenger_; }

 private:
  Messenger& messenger_;
  std::string name_;
};

/// Runs a function once, as an event.
class FunctionEvent final : public CountedEvent {
 public:
  FunctionEvent(Messenger& messenger, std::string name, std::function<void()> function)
      : CountedEvent(messenger, std::move(name)), function_(std::move(function)) {}

 private:
  void act() override { function_(); }
  std::function<void()> function_;
};

struct Payload {
  std::span<const std::byte> bytes;
  std::size_t count;  // of elements
};

/// Sends header and arguments, and the payload after them; `release` runs here when the payload may
/// be reused.
void send_large(Messenger& messenger, const Route& route, const Payload& payload,
                std::span<const std::byte> arguments, std::unique_ptr<CountedEvent> release);

/// Brings the payload into `place` and then runs `arrived`, at once or later.
void receive_large(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                   std::unique_ptr<CountedEvent> arrived);
/// Gets rid of a payload that nobody wants (the scope has failed).
void drop_large(const Message& message, const LargeHeader& header);
/// Reads the header; `arguments` becomes what stands behind it.
LargeHeader split_large(const Message& message, std::span<const std::byte>& arguments);
[[noreturn]] void refuse_buffer(const std::string& name, std::size_t wanted, std::size_t given);

/// Runs `function` as a task made from a message.
void submit_delivered(Messenger& messenger, std::string name, int priority,
                      std::function<void()> function);

}  // namespace messaging

/// An active message whose first argument, a span of T, is moved by the transport from the sender's
/// memory into memory that the receiver supplies, without a copy in between (within a process: one
/// copy). Made by World::make_large_am in the same order on all ranks.
///
/// Three functions (tasktorrent paper, section II-A2): `buffer(count, args...)` on the receiver
/// returns a span of exactly `count` elements; `arrival(data, args...)` on the receiver processes
/// them; `release(args...)` on the sender says that the payload may be reused.
///
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
  using Buffer = std::function<std::span<T>(std::size_t, const Wires&...)>;
  using Arrival = std::function<void(std::span<T>, const Wires&...)>;
  using Release = std::function<void(const Wires&...)>;

  LargeMessage(messaging::Messenger& messenger, Buffer buffer, Arrival arrival, Release release,
               const AmOptions& options)
      : messenger_(&messenger), instance_(std::make_shared<Instance>()) {
    instance_->buffer = std::move(buffer);
    instance_->arrival = std::move(arrival);
    instance_->release = std::move(release);
    instance_->arrive_as_task = options.delivery == Delivery::task;
    instance_->signature = signature();
    instance_->priority = options.priority;
    instance_->self = instance_.get();
    instance_->invoke = &messaging::invoke_each<&LargeMessage::on_header>;
    index_ = messenger.add_instance(instance_, options.name);
  }
  ~LargeMessage() {
    if (messenger_ != nullptr) messenger_->remove_instance(index_);
  }
  LargeMessage(LargeMessage&& other) noexcept
      : messenger_(std::exchange(other.messenger_, nullptr)),
        instance_(std::move(other.instance_)),
        index_(other.index_) {}
  LargeMessage& operator=(LargeMessage&&) = delete;

  /// Sends `payload` (0 bytes to beyond 2^31) and copies of the arguments.
  ///
  /// **Caller**, **Blocks**, **Errors**: as ActiveMessage::send. **Cost**: no copy of the payload
  /// in this process.
  template <class... Args>
  void send(Rank target, std::span<const T> payload, const Args&... args) const {
    static_assert(sizeof...(Args) == sizeof...(Wires),
                  "shoal: the number of arguments differs from the functions' parameters");
    send_wires(target, payload, messaging::as_wire<Wires>(args)...);
  }

 private:
  struct Instance : messaging::Handler {
    Buffer buffer;
    Arrival arrival;
    Release release;
    bool arrive_as_task = false;
  };

  static constexpr std::uint32_t signature() {
    // Differs from that of an ActiveMessage with the same parameters.
    return type_signature<messaging::LargeHeader, std::span<const T>, Wires...>();
  }

  void send_wires(Rank target, std::span<const T> payload, const Wires&... wires) const {
    auto release = std::make_unique<messaging::FunctionEvent>(
        *messenger_, instance_->name, [instance = instance_, values = std::make_tuple(wires...)] {
          std::apply(instance->release, values);
        });
    std::vector<std::byte> arguments(encoded_size<Wires...>(wires...));
    encode<Wires...>(std::span(arguments), wires...);
    const auto handler = messaging::kInstanceBit | messaging::kLargeBit | index_;
    messaging::send_large(*messenger_, {handler, signature(), target},
                          {std::as_bytes(payload), payload.size()}, arguments, std::move(release));
  }

  static void on_header(void* self, const messaging::Message& message) {
    std::span<const std::byte> rest;
    const messaging::LargeHeader header = messaging::split_large(message, rest);
    if (message.dropped) {
      messaging::drop_large(message, header);
      return;
    }
    // The handler's own reference: the event may outlive the LargeMessage.
    auto instance =
        std::static_pointer_cast<Instance>(static_cast<Instance*>(self)->shared_from_this());
    std::span<T> place;
    std::unique_ptr<messaging::CountedEvent> arrived;
    try {
      auto values = decode<Wires...>(rest);
      const auto get_buffer = [&](const auto&... args) {
        return instance->buffer(header.count, args...);
      };
      place = std::apply(get_buffer, values);
      if (place.size() != header.count) {
        messaging::refuse_buffer(instance->name, header.count, place.size());
      }
      arrived = make_arrival(message.messenger, instance, place, std::move(values));
    } catch (...) {
      messaging::drop_large(message, header);  // the sender is not to wait for ever
      throw;
    }
    messaging::receive_large(message, header, std::as_writable_bytes(place), std::move(arrived));
  }

  static std::unique_ptr<messaging::CountedEvent> make_arrival(
      messaging::Messenger& messenger, const std::shared_ptr<Instance>& instance,
      std::span<T> place, std::tuple<Wires...> values) {
    auto arrive = [instance, place, values = std::move(values)] {
      std::apply([&](const auto&... args) { instance->arrival(place, args...); }, values);
    };
    if (!instance->arrive_as_task) {
      return std::make_unique<messaging::FunctionEvent>(messenger, instance->name,
                                                        std::move(arrive));
    }
    return std::make_unique<messaging::FunctionEvent>(
        messenger, instance->name, [&messenger, instance, arrive = std::move(arrive)] {
          messaging::submit_delivered(messenger, instance->name, instance->priority, arrive);
        });
  }

  messaging::Messenger* messenger_;
  std::shared_ptr<Instance> instance_;
  std::uint32_t index_ = 0;
};

namespace messaging {

template <class T, class Traits>
struct LargeTypeOf;
template <class T, class Count, class... Ws>
struct LargeTypeOf<T, TypeList<Count, Ws...>> {
  using type = LargeMessage<T, Ws...>;
};

}  // namespace messaging

/// The type that World::make_large_am<T> returns for a buffer function of type F.
template <class T, class F>
using LargeMessageFor = typename messaging::LargeTypeOf<
    T, typename messaging::FunctionTraits<std::decay_t<F>>::Wires>::type;

}  // namespace shoal
