#include "am/payload_cast.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/large_message.hpp>

#include <algorithm>
#include <utility>

#include "am/messenger.hpp"

namespace shoal::messaging {

// But for its key, used by the handlers of the rank only, one at a time.
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
    PayloadCasts::of(context.channel()).on_ready({origin, number, at_root}, context.world_source());
  }
  static void segment(void* /*self*/, const Message& message) {
    PayloadCasts::of(*message.channel).on_segment(message);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline StaticHandler segment_handler{"shoal::multicast_segment",
                                              type_signature<std::int32_t, std::uint64_t>(),
                                              Delivery::inlined, &invoke_each<&segment>};
};

PayloadCasts::~PayloadCasts() = default;

PayloadCasts& PayloadCasts::of(Channel& channel) {
  return channel.services().obtain<PayloadCasts>(
      [&channel] { return std::make_unique<PayloadCasts>(channel); });
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
  cast->key = {channel_.messenger().rank().value(), ++numbers_, true};
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
  const Rank parent = channel_.team().from_world(place.parent);
  send(channel_, parent, am<&Handlers::ready>, key.origin, key.number, place.below_root);
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
      make_event(channel_, "a multicast", [this, cast, index] { segment_arrived(cast, index); });
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
  auto release = make_event(channel_, "a multicast", [this, cast] {
    --cast->unreleased;
    advance(cast);
  });
  const StaticHandler& handler = Handlers::segment_handler;
  send_large(channel_,
             {handler.index() | kLargeBit | kOwnOrderBit | channel_.flag_bits(),
              handler.signature(), channel_.team().from_world(child)},
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

}  // namespace shoal::messaging
