#include <shoal/detail/base/check.hpp>
#include <shoal/large_message.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "team/large_wire.hpp"
#include "team/messenger.hpp"
#include "team/multicast_wire.hpp"
#include "team/payload_multicast.hpp"

namespace shoal::team {

// Except for its key, only the handlers of the rank use it, one at a time.
struct PayloadMulticasts::Multicast {
  PayloadKey key;
  bool joined = false;
  std::span<const std::byte> bytes;
  std::span<std::byte> place;  // the same, at a recipient
  std::vector<bool> here;      // segments that have come
  std::size_t missing = 0;     // segments
  std::vector<Rank> children;  // that are still to be ready
  std::vector<Rank> ready;     // that have memory
  std::size_t unreleased = 0;  // segments that a transport or child still reads
  MulticastSteps steps;

  [[nodiscard]] std::span<const std::byte> segment(std::size_t index) const {
    const std::size_t begin = index * kSegmentBytes;
    return bytes.subspan(begin, std::min(kSegmentBytes, bytes.size() - begin));
  }
  void start(std::span<const std::byte> payload, std::vector<Rank> below, MulticastSteps then) {
    joined = true;
    bytes = payload;
    here.resize((payload.size() + kSegmentBytes - 1) / kSegmentBytes);
    children = std::move(below);
    steps = std::move(then);
  }
};

/// Handlers of the messages between a recipient and its parent.
struct PayloadMulticasts::Handlers {
  static void ready(const MessageContext& context, std::int32_t origin, std::uint64_t number,
                    bool at_root) {
    PayloadMulticasts::of(context.core())
        .on_ready({origin, number, at_root}, context.world_source());
  }
  static void segment(void* /*self*/, const Message& message) {
    PayloadMulticasts::of(*message.core).on_segment(message);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline StaticHandler segment_handler{"shoal::multicast_segment",
                                              type_signature<std::int32_t, std::uint64_t>(),
                                              Delivery::inlined, &invoke_each<&segment>};
};

PayloadMulticasts::~PayloadMulticasts() = default;

PayloadMulticasts& PayloadMulticasts::of(TeamCore& core) {
  return core.services().obtain<PayloadMulticasts>(
      [&core] { return std::make_unique<PayloadMulticasts>(core); });
}

PayloadMulticasts::SharedMulticast PayloadMulticasts::find(const PayloadKey& key) {
  const sync::Lock lock(mutex_);
  SharedMulticast& multicast = multicasts_[key];
  if (multicast == nullptr) {
    multicast = std::make_shared<Multicast>();
    multicast->key = key;
  }
  return multicast;
}

PayloadKey PayloadMulticasts::begin(std::span<const std::byte> bytes, std::vector<Rank> children,
                                    Function<void()> done) {
  auto multicast = std::make_shared<Multicast>();
  multicast->start(bytes, std::move(children), {nullptr, std::move(done)});
  multicast->here.flip();
  const sync::Lock lock(mutex_);
  multicast->key = {core_.messenger().rank().value(), ++numbers_, true};
  multicasts_.emplace(multicast->key, multicast);
  return multicast->key;
}

void PayloadMulticasts::join(const PayloadKey& key, MulticastPlace place,
                             std::span<std::byte> bytes, MulticastSteps steps) {
  const SharedMulticast multicast = find(key);
  multicast->start(bytes, std::move(place.children), std::move(steps));
  multicast->place = bytes;
  multicast->missing = multicast->here.size();
  for (const Rank child : multicast->ready) std::erase(multicast->children, child);
  const Rank parent = core_.from_world(place.parent);
  send(core_, parent, am<&Handlers::ready>, key.origin, key.number, place.below_root);
  advance(multicast);
}

void PayloadMulticasts::on_ready(const PayloadKey& key, Rank child) {
  const SharedMulticast multicast = find(key);
  multicast->ready.push_back(child);
  if (!multicast->joined) return;
  std::erase(multicast->children, child);
  for (std::size_t i = 0; i < multicast->here.size(); ++i) {
    if (multicast->here[i]) send_segment(multicast, i, child);
  }
  advance(multicast);
}

void PayloadMulticasts::on_segment(const Message& message) {
  std::span<const std::byte> rest;
  const LargeHeader header = split_large(message, rest);
  if (message.dropped) return drop_large(message, header);
  const auto [origin, number, index] = decode<std::int32_t, std::uint64_t, std::uint64_t>(rest);
  const SharedMulticast multicast = find({origin, number, false});
  const bool fits = multicast->joined && index < multicast->here.size() &&
                    !multicast->here[index] &&
                    multicast->segment(index).size() == header.size_bytes;
  if (!fits) drop_large(message, header);
  SHOAL_CHECK(fits, "an unexpected segment of a multicast has come");
  auto arrived = make_event(core_, "a multicast",
                            [this, multicast, index] { segment_arrived(multicast, index); });
  receive_large(message, header, multicast->place.subspan(index * kSegmentBytes, header.size_bytes),
                std::move(arrived));
}

void PayloadMulticasts::segment_arrived(const SharedMulticast& multicast, std::size_t index) {
  multicast->here[index] = true;
  --multicast->missing;
  for (const Rank child : multicast->ready) send_segment(multicast, index, child);
  advance(multicast);
}

void PayloadMulticasts::send_segment(const SharedMulticast& multicast, std::size_t index,
                                     Rank child) {
  ++multicast->unreleased;
  const auto [origin, number, at_root] = multicast->key;
  const auto position = static_cast<std::uint64_t>(index);
  std::vector<std::byte> arguments =
      encoded<std::int32_t, std::uint64_t, std::uint64_t>(origin, number, position);
  const std::span<const std::byte> bytes = multicast->segment(index);
  auto release = make_event(core_, "a multicast", [this, multicast] {
    --multicast->unreleased;
    advance(multicast);
  });
  const StaticHandler& handler = Handlers::segment_handler;
  send_large(core_,
             {handler.index() | kLargeBit | kOwnOrderBit | core_.flag_bits(), handler.signature(),
              core_.from_world(child)},
             {bytes, bytes.size()}, arguments, std::move(release));
}

// The last segment has left for the children before `arrived` runs.
void PayloadMulticasts::advance(const SharedMulticast& multicast) {
  if (multicast->missing > 0 || !multicast->joined) return;
  if (const Function<void()> arrived = std::exchange(multicast->steps.arrived, nullptr)) arrived();
  if (!multicast->children.empty() || multicast->unreleased > 0 || !multicast->steps.done) return;
  {
    const sync::Lock lock(mutex_);
    multicasts_.erase(multicast->key);
  }
  const Function<void()> done = std::move(multicast->steps.done);
  done();
}

// --- large messages

namespace {

/// A payload that travels with its message: each recipient forwards both when the payload is there.
/// Used by the handlers of a rank, one at a time.
struct CarriedPayload {
  TeamCore& core;
  MulticastRoute route;
  MulticastHeader header;
  std::vector<Rank> ranks;  // below this one
  Payload payload;
  std::vector<std::byte> arguments;
  Function<void()> done;
  std::size_t unreleased = 0;
};

// Forwards the payload to the children of this rank; returns false if there are none.
bool pass_on(const std::shared_ptr<CarriedPayload>& carried, const MulticastTree& tree) {
  const std::vector<Branch> branches = branches_of(tree, carried->ranks);
  if (branches.empty()) return false;
  carried->unreleased = branches.size();
  const MulticastTree lower = below(tree);
  carried->header.shape = lower.shape;
  carried->header.arity = static_cast<std::uint16_t>(lower.arity);
  TeamCore& core = carried->core;
  for (const Branch& branch : branches) {
    auto release = make_event(core, "a multicast", [carried] {
      if (--carried->unreleased == 0 && carried->done) carried->done();
    });
    send_large_below(core,
                     {carried->route.handler | kMulticastBit | kLargeBit, carried->route.signature,
                      core.from_world(branch.child)},
                     carried->payload,
                     {multicast_part(carried->header, branch.rest), carried->arguments},
                     std::move(release));
  }
  return true;
}

void join_carried(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                  MulticastSteps steps) {
  const OpenedMulticast& multicast = *message.multicast;
  std::span<const std::byte> rest;
  static_cast<void>(split_large(message, rest));
  MulticastHeader passed = multicast.header;
  passed.from_root = 0;
  const auto carried = std::make_shared<CarriedPayload>(CarriedPayload{*message.core,
                                                                       multicast.route,
                                                                       passed,
                                                                       expand(multicast.runs),
                                                                       {place, header.count},
                                                                       {rest.begin(), rest.end()},
                                                                       std::move(steps.done)});
  const MulticastTree tree{passed.shape, passed.arity};
  Message from_parent = message;
  from_parent.source = multicast.parent;
  receive_large(
      from_parent, header, place,
      make_event(*message.core, "a multicast", [carried, tree, arrived = std::move(steps.arrived)] {
        const bool is_last = !pass_on(carried, tree);
        if (arrived) arrived();
        if (is_last && carried->done) carried->done();
      }));
}

}  // namespace

// The message that announces the payload names it by its number, in `checksum`.
// NOLINTNEXTLINE(readability-function-size): the parts of a message
void multicast_large(TeamCore& core, const MulticastRoute& route, const Recipients& recipients,
                     const Payload& payload, std::span<const std::byte> arguments,
                     Function<void()> release) {
  const MulticastPlan plan(core, route, recipients, payload.bytes.size());
  PayloadMulticasts& multicasts = PayloadMulticasts::of(core);
  LargeHeader header;
  header.size_bytes = payload.bytes.size();
  header.count = payload.count;
  if (plan.children().empty()) {
    auto released = make_event(core, "a multicast", std::move(release));
    core.messenger().fabric().port(core.messenger().rank()).post(released.release());
    return;
  }
  if (plan.carries()) {
    MulticastHeader first = plan.header();
    first.carries = 1;
    first.path = ~first.path;  // comes later than others along this tree
    const auto carried =
        std::make_shared<CarriedPayload>(CarriedPayload{core,
                                                        route,
                                                        first,
                                                        plan.ranks(),
                                                        payload,
                                                        {arguments.begin(), arguments.end()},
                                                        std::move(release)});
    static_cast<void>(pass_on(carried, plan.tree()));
    return;
  }
  const PayloadKey key = multicasts.begin(payload.bytes, plan.children(), std::move(release));
  header.checksum = key.number;
  std::vector<std::byte> bytes(kLargeHeaderBytes + arguments.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!arguments.empty()) {
    std::memcpy(bytes.data() + kLargeHeaderBytes, arguments.data(), arguments.size());
  }
  plan.send(route, bytes);
}

void join_multicast(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                    MulticastSteps steps) {
  const OpenedMulticast& multicast = *message.multicast;
  if (multicast.header.carries != 0) return join_carried(message, header, place, std::move(steps));
  const std::vector<Rank> ranks = expand(multicast.runs);
  MulticastPlace where{multicast.parent, multicast.header.from_root != 0, {}};
  const MulticastTree tree{multicast.header.shape, multicast.header.arity};
  for (const Branch& branch : branches_of(tree, ranks)) where.children.push_back(branch.child);
  PayloadMulticasts::of(*message.core)
      .join({multicast.header.origin, header.checksum}, std::move(where), place, std::move(steps));
}

void receive_in_steps(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                      const std::string& name, MulticastSteps steps) {
  if (message.multicast != nullptr) {
    return join_multicast(message, header, place, std::move(steps));
  }
  receive_payload(message, header, place, name, [steps = std::move(steps)] {
    if (steps.arrived) steps.arrived();
    if (steps.done) steps.done();
  });
}

}  // namespace shoal::team
