// Multicasts of large messages.

#include <shoal/am/messenger.hpp>
#include <shoal/am/payload_cast.hpp>

#include "am/large_wire.hpp"
#include "am/multicast_wire.hpp"

#include <cstring>
#include <utility>

namespace shoal::messaging {

// The message that announces the payload says in `tag` which one it is.
// NOLINTNEXTLINE(readability-function-size): the parts of a message
void multicast_large(Channel& channel, const MulticastRoute& route, const Recipients& recipients,
                     const Payload& payload, std::span<const std::byte> arguments,
                     Function<void()> release) {
  const MulticastPlan plan(channel, recipients, payload.bytes.size());
  PayloadCasts& casts = PayloadCasts::of(channel);
  LargeHeader header;
  header.size_bytes = payload.bytes.size();
  header.count = payload.count;
  if (plan.children().empty()) {
    auto released = make_event(channel, "a multicast", std::move(release));
    channel.messenger().fabric().port(channel.messenger().rank()).post(released.release());
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
  const std::vector<Rank> ranks = expand(multicast.runs);
  CastPlace where{multicast.parent, multicast.header.from_root != 0, {}};
  const MulticastTree tree{multicast.header.shape, multicast.header.arity};
  for (const Branch& branch : branches_of(tree, ranks)) where.children.push_back(branch.child);
  PayloadCasts::of(*message.channel)
      .join({multicast.header.origin, header.checksum}, std::move(where), place, std::move(steps));
}

}  // namespace shoal::messaging
