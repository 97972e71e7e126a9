#include "flow/value_message.hpp"

#include <shoal/detail/team/cast_steps.hpp>
#include <shoal/large_message.hpp>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace shoal::flow {

using messaging::LargeHeader;
using messaging::Message;

namespace {

constexpr std::uint32_t kTypes = type_signature<LargeHeader, TransferId, bool>();

}  // namespace

struct ValueMessage::Receiver : messaging::Handler {
  Functions functions;

  static void on_header(void* self, const Message& message);
  void receive(const Message& message, const LargeHeader& header, std::span<std::byte> place,
               const TransferId& id);
};

ValueMessage::ValueMessage(messaging::Channel& channel, const std::string& name,
                           Functions functions, const std::source_location& place)
    : channel_(channel), receiver_(std::make_shared<Receiver>()) {
  receiver_->functions = std::move(functions);
  receiver_->signature = kTypes;
  receiver_->self = receiver_.get();
  receiver_->invoke = &messaging::invoke_each<&Receiver::on_header>;
  index_ = channel.add_handler(receiver_, name, messaging::source_of<ValueMessage>(place));
}

ValueMessage::~ValueMessage() { channel_.remove_handler(index_); }

std::uint32_t ValueMessage::handler() const {
  return messaging::kInstanceBit | messaging::kOwnOrderBit | channel_.flag_bits() | index_;
}

void ValueMessage::send(Rank target, std::span<const std::byte> bytes, const TransferId& id,
                        bool report, Function<void()> release) const {
  messaging::send_large(channel_, {handler() | messaging::kLargeBit, receiver_->signature, target},
                        {bytes, bytes.size()}, encoded(id, report),
                        messaging::make_event(channel_, receiver_->name, std::move(release)));
}

void ValueMessage::multicast(const Recipients& recipients, std::span<const std::byte> bytes,
                             const TransferId& id, bool report, Function<void()> release) const {
  messaging::multicast_large(channel_, {handler(), receiver_->signature}, recipients,
                             {bytes, bytes.size()}, encoded(id, report), std::move(release));
}

void ValueMessage::Receiver::on_header(void* self, const Message& message) {
  std::span<const std::byte> rest;
  const LargeHeader header = messaging::split_large(message, rest);
  if (message.dropped) return messaging::drop_payload(message, header);
  auto* const receiver = static_cast<Receiver*>(self);
  std::optional<std::tuple<TransferId, bool>> arguments;
  std::span<std::byte> place;
  try {
    arguments.emplace(decode<TransferId, bool>(rest));
    const auto& [id, report] = *arguments;
    place = receiver->functions.buffer(header.size_bytes, id, report);
  } catch (...) {
    messaging::drop_payload(message, header);  // the sender is not to wait for ever
    throw;
  }
  receiver->receive(message, header, place, std::get<0>(*arguments));
}

void ValueMessage::Receiver::receive(const Message& message, const LargeHeader& header,
                                     std::span<std::byte> place, const TransferId& id) {
  // The event's own reference: it may outlive the ValueMessage.
  auto self = std::static_pointer_cast<Receiver>(shared_from_this());
  if (message.multicast == nullptr) {
    messaging::receive_large(
        message, header, place,
        messaging::make_event(*message.channel, name,
                              [channel = message.channel, self = std::move(self), id] {
                                messaging::check_live(*channel, *self);
                                self->functions.arrived(id, nullptr);
                              }));
    return;
  }
  auto forwarding = std::make_shared<Forwarding>();
  messaging::join_multicast(
      message, header, place,
      {.arrived =
           [channel = message.channel, self = std::move(self), id, forwarding] {
             messaging::check_live(*channel, *self);
             self->functions.arrived(id, forwarding);
           },
       .done = [forwarding = std::move(forwarding)] {}});
}

}  // namespace shoal::flow
