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
struct PayloadCasts::Cast {
  CastKey key;
  bool joined = false;
  std::span<const std::byte> bytes;
  std::span<std::byte> place;  // the same, at a recipient
  std::vector<bool> here;      // segments that have come
  std::size_t missing = 0;     // segments
  std::vector<Rank> children;  // that are still to be ready
  std::vector<Rank> ready;     // that have memory
  std::size_t unreleased = 0;  // segments that a transport or child still reads
  CastSteps steps;

  [[nodiscard]] std::span<const std::byte> segment(std::size_t index) const {
    const std::size_t begin = index * kSegmentBytes;
    return bytes.subspan(begin, std::min(kSegmentBytes, bytes.size() - begin));
  }
  void start(std::span<const std::byte> payload, std::vector<Rank> below, CastSteps then) {
    joined = true;
    bytes = payload;
    here.resize((payload.size() + kSegmentBytes - 1) / kSegmentBytes);
    children = std::move(below);
    steps = std::move(then);
  }
};

/// Handlers of the messages between a recipient and its parent.
struct PayloadCasts::Handlers {
  static void ready(const MessageContext& context, std::int32_t origin, std::uint64_t number,
                    bool at_root) {
    PayloadCasts::of(context.core()).on_ready({origin, number, at_root}, context.world_source());
  }
  static void segment(void* /*self*/, const Message& message) {
    PayloadCasts::of(*message.core).on_segment(message);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline StaticHandler segment_handler{"shoal::multicast_segment",
                                              type_signature<std::int32_t, std::uint64_t>(),
                                              Delivery::inlined, &invoke_each<&segment>};
};

PayloadCasts::~PayloadCasts() = default;

PayloadCasts& PayloadCasts::of(TeamCore& core) {
  return core.services().obtain<PayloadCasts>(
      [&core] { return std::make_unique<PayloadCasts>(core); });
}

PayloadCasts::SharedCast PayloadCasts::find(const CastKey& key) {
  const sync::Lock lock(mutex_);
  SharedCast& cast = casts_[key];
  if (cast == nullptr) {
    cast = std::make_shared<Cast>();
    cast->key = key;
  }
  return cast;
}

CastKey PayloadCasts::begin(std::span<const std::byte> bytes, std::vector<Rank> children,
                            Function<void()> done) {
  auto cast = std::make_shared<Cast>();
  cast->start(bytes, std::move(children), {nullptr, std::move(done)});
  cast->here.flip();
  const sync::Lock lock(mutex_);
  cast->key = {core_.messenger().rank().value(), ++numbers_, true};
  casts_.emplace(cast->key, cast);
  return cast->key;
}

void PayloadCasts::join(const CastKey& key, CastPlace place, std::span<std::byte> bytes,
                        CastSteps steps) {
  const SharedCast cast = find(key);
  cast->start(bytes, std::move(place.children), std::move(steps));
  cast->place = bytes;
  cast->missing = cast->here.size();
  for (const Rank child : cast->ready) std::erase(cast->children, child);
  const Rank parent = core_.from_world(place.parent);
  send(core_, parent, am<&Handlers::ready>, key.origin, key.number, place.below_root);
  advance(cast);
}

void PayloadCasts::on_ready(const CastKey& key, Rank child) {
  const SharedCast cast = find(key);
  cast->ready.push_back(child);
  if (!cast->joined) return;
  std::erase(cast->children, child);
  for (std::size_t i = 0; i < cast->here.size(); ++i) {
    if (cast->here[i]) send_segment(cast, i, child);
  }
  advance(cast);
}

void PayloadCasts::on_segment(const Message& message) {
  std::span<const std::byte> rest;
  const LargeHeader header = split_large(message, rest);
  if (message.dropped) return drop_large(message, header);
  const auto [origin, number, index] = decode<std::int32_t, std::uint64_t, std::uint64_t>(rest);
  const SharedCast cast = find({origin, number, false});
  const bool fits = cast->joined && index < cast->here.size() && !cast->here[index] &&
                    cast->segment(index).size() == header.size_bytes;
  if (!fits) drop_large(message, header);
  SHOAL_CHECK(fits, "an unexpected segment of a multicast has come");
  auto arrived =
      make_event(core_, "a multicast", [this, cast, index] { segment_arrived(cast, index); });
  receive_large(message, header, cast->place.subspan(index * kSegmentBytes, header.size_bytes),
                std::move(arrived));
}

void PayloadCasts::segment_arrived(const SharedCast& cast, std::size_t index) {
  cast->here[index] = true;
  --cast->missing;
  for (const Rank child : cast->ready) send_segment(cast, index, child);
  advance(cast);
}

void PayloadCasts::send_segment(const SharedCast& cast, std::size_t index, Rank child) {
  ++cast->unreleased;
  const auto [origin, number, at_root] = cast->key;
  const auto position = static_cast<std::uint64_t>(index);
  std::vector<std::byte> arguments =
      encoded<std::int32_t, std::uint64_t, std::uint64_t>(origin, number, position);
  const std::span<const std::byte> bytes = cast->segment(index);
  auto release = make_event(core_, "a multicast", [this, cast] {
    --cast->unreleased;
    advance(cast);
  });
  const StaticHandler& handler = Handlers::segment_handler;
  send_large(core_,
             {handler.index() | kLargeBit | kOwnOrderBit | core_.flag_bits(), handler.signature(),
              core_.from_world(child)},
             {bytes, bytes.size()}, arguments, std::move(release));
}

// The last segment has left for the children before `arrived` runs.
void PayloadCasts::advance(const SharedCast& cast) {
  if (cast->missing > 0 || !cast->joined) return;
  if (const Function<void()> arrived = std::exchange(cast->steps.arrived, nullptr)) arrived();
  if (!cast->children.empty() || cast->unreleased > 0 || !cast->steps.done) return;
  {
    const sync::Lock lock(mutex_);
    casts_.erase(cast->key);
  }
  const Function<void()> done = std::move(cast->steps.done);
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
                  CastSteps steps) {
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
  PayloadCasts& casts = PayloadCasts::of(core);
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
  PayloadCasts::of(*message.core)
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

}  // namespace shoal::team
