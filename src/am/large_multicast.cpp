// Multicasts of large messages.

#include "am/large_wire.hpp"
#include "am/messenger.hpp"
#include "am/multicast_wire.hpp"
#include "am/payload_cast.hpp"

#include <cstring>
#include <memory>
#include <utility>

namespace shoal::messaging {

namespace {

/// A payload that travels with its message: each recipient passes both on when the payload is
/// there. Used by the handlers of a rank, one at a time.
struct CarriedPayload {
  Channel& channel;
  MulticastRoute route;
  MulticastHeader header;
  std::vector<Rank> ranks;  // below this one
  Payload payload;
  std::vector<std::byte> arguments;
  Function<void()> done;
  std::size_t unreleased = 0;
};

// False: this rank has no children.
bool pass_on(const std::shared_ptr<CarriedPayload>& carried, const MulticastTree& tree) {
  const std::vector<Branch> branches = branches_of(tree, carried->ranks);
  if (branches.empty()) return false;
  carried->unreleased = branches.size();
  const MulticastTree lower = below(tree);
  carried->header.shape = lower.shape;
  carried->header.arity = static_cast<std::uint16_t>(lower.arity);
  Channel& channel = carried->channel;
  for (const Branch& branch : branches) {
    auto release = make_event(channel, "a multicast", [carried] {
      if (--carried->unreleased == 0 && carried->done) carried->done();
    });
    send_large_below(channel,
                     {carried->route.handler | kMulticastBit | kLargeBit, carried->route.signature,
                      channel.team().from_world(branch.child)},
                     carried->payload,
                     {multicast_part(carried->header, branch.rest), carried->arguments},
                     std::move(release));
  }
  return true;
}

void join_carried(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                  CastSteps steps) {
  const OpenedMulticast& multicast = *message.multicast;
  std::span<const std::byte> rest;
  static_cast<void>(split_large(message, rest));
  MulticastHeader passed = multicast.header;
  passed.from_root = 0;
  const auto carried = std::make_shared<CarriedPayload>(CarriedPayload{*message.channel,
                                                                       multicast.route,
                                                                       passed,
                                                                       expand(multicast.runs),
                                                                       {place, header.count},
                                                                       {rest.begin(), rest.end()},
                                                                       std::move(steps.done)});
  const MulticastTree tree{passed.shape, passed.arity};
  Message from_parent = message;
  from_parent.source = multicast.parent;
  receive_large(from_parent, header, place,
                make_event(*message.channel, "a multicast",
                           [carried, tree, arrived = std::move(steps.arrived)] {
                             const bool is_last = !pass_on(carried, tree);
                             if (arrived) arrived();
                             if (is_last && carried->done) carried->done();
                           }));
}

}  // namespace

// The message that announces the payload names it by its number, in `checksum`.
// NOLINTNEXTLINE(readability-function-size): the parts of a message
void multicast_large(Channel& channel, const MulticastRoute& route, const Recipients& recipients,
                     const Payload& payload, std::span<const std::byte> arguments,
                     Function<void()> release) {
  const MulticastPlan plan(channel, route, recipients, payload.bytes.size());
  PayloadCasts& casts = PayloadCasts::of(channel);
  LargeHeader header;
  header.size_bytes = payload.bytes.size();
  header.count = payload.count;
  if (plan.children().empty()) {
    auto released = make_event(channel, "a multicast", std::move(release));
    channel.messenger().fabric().port(channel.messenger().rank()).post(released.release());
    return;
  }
  if (plan.carries()) {
    MulticastHeader first = plan.header();
    first.carries = 1;
    first.path = ~first.path;  // comes later than others along this tree
    const auto carried =
        std::make_shared<CarriedPayload>(CarriedPayload{channel,
                                                        route,
                                                        first,
                                                        plan.ranks(),
                                                        payload,
                                                        {arguments.begin(), arguments.end()},
                                                        std::move(release)});
    static_cast<void>(pass_on(carried, plan.tree()));
    return;
  }
  const CastKey key = casts.begin(payload.bytes, plan.children(), std::move(release));
  header.checksum = key.number;
  std::vector<std::byte> bytes(kLargeHeaderBytes + arguments.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!arguments.empty()) {
    std::memcpy(bytes.data() + kLargeHeaderBytes, arguments.data(), arguments.size());
  }
  plan.send(route, bytes);
}

void join_multicast(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                    CastSteps steps) {
  const OpenedMulticast& multicast = *message.multicast;
  if (multicast.header.carries != 0) return join_carried(message, header, place, std::move(steps));
  const std::vector<Rank> ranks = expand(multicast.runs);
  CastPlace where{multicast.parent, multicast.header.from_root != 0, {}};
  const MulticastTree tree{multicast.header.shape, multicast.header.arity};
  for (const Branch& branch : branches_of(tree, ranks)) where.children.push_back(branch.child);
  PayloadCasts::of(*message.channel)
      .join({multicast.header.origin, header.checksum}, std::move(where), place, std::move(steps));
}

void receive_in_steps(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                      const std::string& name, CastSteps steps) {
  if (message.multicast != nullptr) {
    return join_multicast(message, header, place, std::move(steps));
  }
  receive_payload(message, header, place, name, [steps = std::move(steps)] {
    if (steps.arrived) steps.arrived();
    if (steps.done) steps.done();
  });
}

}  // namespace shoal::messaging
