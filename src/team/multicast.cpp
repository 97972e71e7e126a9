#include "team/messenger.hpp"
#include "team/multicast_wire.hpp"
#include "team/payload_multicast.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/team/tree_costs.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace shoal::team {

namespace {

/// A message that is the same for all branches, except the ranks to which it is forwarded.
struct Content {
  MulticastRoute route;
  MulticastHeader header;
  std::span<const std::byte> bytes;       // of the arguments, unless there is an object
  const SharedObject* object = nullptr;   // which each message has its own reference to
  std::shared_ptr<net::Pieces> pieces{};  // or of a large message to other processes
};

// A large message: other processes get its pieces, ranks of this one a reference to them.
[[gnu::noinline]] void append_pieces_branch(TeamCore& core, net::Link& link, const Content& content,
                                            const Branch& branch) {
  const std::vector<std::byte> head = multicast_part(content.header, branch.rest);
  net::MessageHeader message{content.route.handler | kMulticastBit, content.route.signature, 0,
                             core.id()};
  if (!core.is_local(link)) return core.append_pieces(link, message, head, content.pieces);
  auto object = std::make_unique<net::ReceivedMessage>(content.pieces);
  message.handler |= kObjectBit;
  message.size_bytes = head.size() + sizeof(std::uintptr_t);
  core.append(link, message, content.pieces->size_bytes, [&](std::span<std::byte> place) {
    std::ranges::copy(head, place.begin());
    const auto raw =
        reinterpret_cast<std::uintptr_t>(static_cast<ObjectMessage*>(object.release())) |
        net::kReceivedBit;
    std::memcpy(place.data() + head.size(), &raw, sizeof raw);
  });
}

void append_branch(TeamCore& core, net::Link& link, const Content& content, const Branch& branch) {
  if (content.pieces != nullptr) [[unlikely]]
    return append_pieces_branch(core, link, content, branch);
  const std::vector<RankRun> runs = compress(branch.rest);
  const std::size_t run_bytes = net::align_up(runs.size() * sizeof(RankRun));
  MulticastHeader header = content.header;
  header.run_count = static_cast<std::uint32_t>(runs.size());
  std::unique_ptr<ObjectMessage> object;
  if (content.object != nullptr) object = content.object->again();
  const std::size_t argument_bytes = object ? sizeof(std::uintptr_t) : content.bytes.size();
  net::MessageHeader message{content.route.handler | kMulticastBit, content.route.signature,
                             sizeof header + run_bytes + argument_bytes, core.id()};
  if (object) message.handler |= kObjectBit;
  const std::size_t weight = object ? content.object->weight() : 0;
  core.append(link, message, weight, [&](std::span<std::byte> place) {
    std::memcpy(place.data(), &header, sizeof header);
    std::byte* at = place.data() + sizeof header;
    if (!runs.empty()) std::memcpy(at, runs.data(), runs.size() * sizeof(RankRun));
    at += run_bytes;
    if (object) {
      const auto raw = reinterpret_cast<std::uintptr_t>(object.release());
      std::memcpy(at, &raw, sizeof raw);
    } else if (argument_bytes > 0) {
      std::memcpy(at, content.bytes.data(), argument_bytes);
    }
  });
}

// Ranks of the world, in the order in which they are served.
std::vector<Rank> check_recipients(const TeamCore& core, const MulticastRoute& route,
                                   const Recipients& recipients) {
  std::vector<Rank> ranks = recipients.in_order();
  for (Rank& rank : ranks) {
    if (!core.has(rank)) core.refuse_target("multicast", route.handler, rank);
    rank = core.to_world(rank);
  }
  std::vector<bool> seen(static_cast<std::size_t>(core.messenger().size()));
  for (const Rank rank : ranks) {
    std::vector<bool>::reference listed = seen[static_cast<std::size_t>(rank.value())];
    SHOAL_CHECK(!listed, "multicast for '{}', on rank {}, lists rank {} twice: each recipient once",
                core.name_of(route.handler), core.messenger().rank().value(),
                core.from_world(rank).value());
    listed = true;
  }
  return ranks;
}

// Returns the measured costs of this machine; nullptr if there are none.
const TreeCosts* tree_costs(const TeamCore& core) {
  const auto* const costs = core.messenger().services().find<TreeCosts>();
  return costs != nullptr && (costs->are_known() || costs->all_share_cores) ? costs : nullptr;
}

MulticastTree resolve_short(const TeamCore& core, const MulticastTree& tree, std::size_t count) {
  const TreeCosts* const costs = tree_costs(core);
  if (tree.shape != TreeShape::automatic || costs == nullptr || !costs->are_known()) {
    return resolve(tree, count);
  }
  return fastest_tree(*costs, count);
}

// Makes the header of the sender's messages.
MulticastHeader first_header(const TeamCore& core, const MulticastTree& tree,
                             std::span<const Rank> ranks) {
  const MulticastTree lower = below(tree);
  MulticastHeader header;
  header.origin = core.messenger().rank().value();
  header.path = static_cast<std::uint32_t>(net::checksum_of(std::as_bytes(ranks))) ^
                (static_cast<std::uint32_t>(tree.shape) << 24U) ^
                static_cast<std::uint32_t>(tree.arity);
  header.shape = lower.shape;
  header.arity = static_cast<std::uint16_t>(lower.arity);
  header.from_root = 1;
  return header;
}

void send_to(TeamCore& core, net::Lane lane, const Content& content, const MulticastTree& tree,
             std::span<const Rank> ranks) {
  for (const Branch& branch : branches_of(tree, ranks)) {
    append_branch(core, core.admit_to(core.from_world(branch.child), lane, content.route.handler),
                  content, branch);
  }
}

}  // namespace

void send_multicast(TeamCore& core, const MulticastRoute& route, const Recipients& recipients,
                    MulticastArguments& arguments) {
  std::vector<Rank> ranks = check_recipients(core, route, recipients);
  if (ranks.empty()) return;
  const Messenger& messenger = core.messenger();
  const MulticastTree tree = resolve_short(core, recipients.tree(), ranks.size());
  const net::Lane lane = recipients.is_urgent() ? net::Lane::urgent : net::Lane::normal;
  Content content;
  content.route = route;
  // Recipients of this process share an object, if they can.
  const MulticastArguments::Copy copy = arguments.copy();
  const auto remote = copy == nullptr
                          ? ranks.begin()
                          : std::stable_partition(ranks.begin(), ranks.end(), [&](Rank rank) {
                              return messenger.fabric().layout().is_local(rank);
                            });
  const std::span<const Rank> near(ranks.begin(), remote);
  const std::span<const Rank> far(remote, ranks.end());
  const std::size_t size_bytes = arguments.size_bytes();
  if (!far.empty()) {
    const bool has_pieces = size_bytes >= net::kPieceBytes;
    std::vector<std::byte> bytes(has_pieces ? 0 : size_bytes);
    if (has_pieces) [[unlikely]] {
      content.pieces = arguments.pieces(near.empty());
    } else {
      arguments.encode(bytes);
      content.bytes = bytes;
    }
    content.header = first_header(core, tree, far);
    send_to(core, lane, content, tree, far);
    content.pieces = nullptr;
  }
  if (!near.empty()) {
    const SharedObject object(arguments.share(), copy, size_bytes);
    content.object = &object;
    content.header = first_header(core, tree, near);
    send_to(core, lane, content, tree, near);
  }
}

namespace {

// Whether a payload travels with its message. A payload in segments waits four times for a busy
// rank at each step of its tree: for the handlers of the announcement, of the request, of the
// segment and of its arrival. A payload that travels with its message waits twice, for the first
// and the last of them, but it is forwarded only as a whole. So wide trees, which suit busy ranks,
// carry payloads of few segments.
bool carries(bool is_urgent, const MulticastTree& tree, std::size_t bytes) {
  constexpr int kWide = 4;
  constexpr std::size_t kBytesMax = 2 * PayloadMulticasts::kSegmentBytes;
  if (is_urgent) return false;
  return tree.shape == TreeShape::flat ||
         (tree.shape == TreeShape::k_ary && tree.arity >= kWide && bytes <= kBytesMax);
}

std::size_t segments_of(std::size_t bytes) {
  return (bytes + PayloadMulticasts::kSegmentBytes - 1) / PayloadMulticasts::kSegmentBytes;
}

bool are_local(const TeamCore& core, std::span<const Rank> ranks) {
  const net::Layout& layout = core.messenger().fabric().layout();
  return std::ranges::all_of(ranks, [&layout](Rank rank) { return layout.is_local(rank); });
}

// Returns the tree that was requested, or the fastest one by the measured costs, if these are
// known. Where all ranks share cores, each step of a tree waits for a turn of the cores, and depth
// gains nothing: 8 processes on 2 cores took half the time along a flat tree (docs/performance.md).
MulticastTree asked_large(const TeamCore& core, const MulticastTree& tree,
                          std::span<const Rank> ranks, std::size_t bytes) {
  const TreeCosts* const costs = tree_costs(core);
  if (tree.shape != TreeShape::automatic || costs == nullptr) return tree;
  if (are_local(core, ranks)) return tree;
  if (!costs->are_known()) return {TreeShape::flat};
  return fastest_large_tree(*costs, ranks.size(), segments_of(bytes));
}

// Chooses the tree of a payload in segments. Let the time of a segment on an interface be 1. Along
// a chain of n recipients, S segments take S + n - 1. A sender serves one child after the other, so
// a binary tree takes 2 S and more, but its depth is small. Simulated networks
// (docs/performance.md) agree on the number of segments from which the chain is faster. Recipients
// of the sender's process copy the payload themselves, so that there is nothing to distribute.
MulticastTree resolve_large(const TeamCore& core, const MulticastTree& tree,
                            std::span<const Rank> ranks, std::size_t bytes) {
  const std::size_t count = ranks.size();
  if (tree.shape != TreeShape::automatic) return resolve(tree, count);
  if (are_local(core, ranks)) return {TreeShape::flat};
  const std::size_t segments = segments_of(bytes);
  if (segments > 1 && count <= 2 * segments) return {TreeShape::chain};
  return {TreeShape::k_ary, 2};
}

}  // namespace

MulticastPlan::MulticastPlan(TeamCore& core, const MulticastRoute& route,
                             const Recipients& recipients, std::size_t payload_bytes)
    : core_(core),
      lane_(recipients.is_urgent() ? net::Lane::urgent : net::Lane::normal),
      ranks_(check_recipients(core, route, recipients)),
      asked_(asked_large(core, recipients.tree(), ranks_, payload_bytes)),
      carries_(team::carries(recipients.is_urgent(), asked_, payload_bytes)),
      tree_(resolve_large(core, asked_, ranks_, payload_bytes)) {}

std::vector<Rank> MulticastPlan::children() const {
  std::vector<Rank> children;
  for (const Branch& branch : branches_of(tree_, ranks_)) children.push_back(branch.child);
  return children;
}

MulticastHeader MulticastPlan::header() const { return first_header(core_, tree_, ranks_); }

void MulticastPlan::send(const MulticastRoute& route, std::span<const std::byte> arguments) const {
  Content content;
  content.route = route;
  content.header = header();
  content.bytes = arguments;
  send_to(core_, lane_, content, tree_, ranks_);
}

std::vector<std::byte> multicast_part(MulticastHeader header, std::span<const Rank> rest) {
  const std::vector<RankRun> runs = compress(rest);
  header.run_count = static_cast<std::uint32_t>(runs.size());
  std::vector<std::byte> part(sizeof header + net::align_up(runs.size() * sizeof(RankRun)));
  std::memcpy(part.data(), &header, sizeof header);
  std::ranges::copy(std::as_bytes(std::span(runs)), part.begin() + sizeof header);
  return part;
}

OpenedMulticast open_multicast(std::span<const std::byte> message) {
  OpenedMulticast opened;
  if (message.size() < sizeof opened.header) throw DecodeError("a multicast without a header");
  std::memcpy(&opened.header, message.data(), sizeof opened.header);
  const std::size_t run_bytes = opened.header.run_count * sizeof(RankRun);
  message = message.subspan(sizeof opened.header);
  if (message.size() < net::align_up(run_bytes)) {
    throw DecodeError("a multicast is shorter than its list of ranks");
  }
  static_assert(alignof(RankRun) <= net::kMessageAlign);
  opened.runs = {reinterpret_cast<const RankRun*>(message.data()), opened.header.run_count};
  opened.arguments = message.subspan(net::align_up(run_bytes));
  return opened;
}

bool own_copy(const Message& message) {
  // The pointer is stored in the packet, which belongs to this rank.
  auto* const place = const_cast<std::byte*>(message.arguments.data());
  std::uintptr_t raw = 0;
  if (pieces_of(message) != nullptr) {  // of this message alone
    if (!message.dropped) return true;
    delete object_of(message);
    std::memcpy(place, &raw, sizeof raw);
    return false;
  }
  const std::unique_ptr<SharedObject> shared(static_cast<SharedObject*>(object_of(message)));
  std::memcpy(place, &raw, sizeof raw);
  if (message.dropped) return false;
  raw = reinterpret_cast<std::uintptr_t>(shared->copy().release());
  std::memcpy(place, &raw, sizeof raw);
  return true;
}

// The run is marked in the packet, because this is called again for a message that waits for its
// handler.
void forward_multicasts(TeamCore& core, net::Lane lane, const net::Run& run, std::byte* first) {
  for (std::uint64_t i = 0; i < run.count; ++i, first += run.step()) {
    const OpenedMulticast opened = open_multicast({first, run.size_bytes});
    if (opened.header.forwarded != 0 || opened.header.carries != 0) continue;
    Content content;
    content.route = {run.handler & ~(kMulticastBit | kObjectBit), run.signature};
    content.header = opened.header;
    content.header.from_root = 0;
    MulticastHeader marked = opened.header;
    marked.forwarded = 1;
    std::memcpy(first, &marked, sizeof marked);
    if (opened.runs.empty() || core.failed()) continue;
    if ((run.handler & kObjectBit) != 0) {
      const Message message{&core, Rank(0), true, false, opened.arguments};
      if (const auto* const pieces = pieces_of(message)) {
        content.pieces = *pieces;
      } else {
        content.object = static_cast<const SharedObject*>(object_of(message));
      }
    } else {
      content.bytes = opened.arguments;
    }
    const std::vector<Rank> ranks = expand(opened.runs);
    const MulticastTree tree{opened.header.shape, opened.header.arity};
    for (const Branch& branch : branches_of(tree, ranks)) {
      append_branch(core, core.messenger().link_to(branch.child, lane), content, branch);
    }
  }
}

}  // namespace shoal::team
