#include "team/coll/operation.hpp"

#include <shoal/detail/base/check.hpp>

#include <algorithm>
#include <bit>

#include "team/messenger.hpp"

namespace shoal::team {

namespace {

// All but `root`, in the order of the ring.
std::vector<Rank> others(Rank root, int size) {
  std::vector<Rank> others;
  others.reserve(static_cast<std::size_t>(size));
  for (int i = 1; i < size; ++i) others.emplace_back((root.value() + i) % size);
  return others;
}

// This member in the tree of payloads of `root`.
MulticastPlace multicast_place(const TeamCore& team, Rank root) {
  const std::vector<Rank> members = others(root, team.size());
  const MulticastTree tree = resolve({}, members.size());
  const TreePlace place = place_in(tree, root, members, team.rank());
  MulticastPlace multicast{team.to_world(place.parent), place.parent == root, {}};
  for (const Rank child : place.children) multicast.children.push_back(team.to_world(child));
  return multicast;
}

template <auto Function, class... Args>
void multicast_piece(TeamCore& core, const Recipients& to, const Args&... args) {
  multicast_static<StaticFunction<Function, Delivery::inlined>, kOwnOrderBit>(core, to, args...);
}

}  // namespace

bool Operation::Receive::take_from(std::vector<Piece>& pieces) {
  const auto it = std::find_if(pieces.begin(), pieces.end(),
                               [this](const Piece& piece) { return fits(piece); });
  if (it == pieces.end()) return false;
  piece_ = std::move(*it);
  pieces.erase(it);
  return true;
}

Operation::Receive Operation::receive(Rank source, std::uint32_t phase) {
  return {*this, source, phase};
}

PieceHeader Operation::header(std::uint32_t phase) const {
  return {.sequence = sequence_,
          .phase = phase,
          .source = rank_.value(),
          .root = call_.root.value(),
          .type = call_.values.signature,
          .kind = call_.kind,
          .operation = call_.operation_hash()};
}

void Operation::send(Rank target, std::uint32_t phase, const Block& block) {
  PieceHeader header = this->header(phase);
  const Immutable<Bytes>& bytes = block.shared();
  if (bytes && in_.goes_as_payload(bytes->size()) && !in_.is_local(target)) {
    header.inline_size = PieceHeader::kPayloadBlock;
    in_.send_payload(target, *bytes, header, [bytes] {});
  } else if (bytes) {
    team::send(in_.core(), target, am<&Pieces::shared>, header, bytes);
  } else {
    header.inline_size = static_cast<std::uint8_t>(block.size());
    copy_bytes(block.bytes(), header.place);
    team::send(in_.core(), target, am<&Pieces::brief>, header);
  }
}

void Operation::multicast(std::uint32_t phase, const Block& block, const Announcement& announced) {
  const Recipients to(others(rank_, size_));
  PieceHeader header = this->header(phase);
  header.announced = announced;
  if (block.object().value != nullptr) {
    multicast_piece<&Pieces::object>(in_.core(), to, header, block.object());
  } else if (block.shared()) {
    multicast_piece<&Pieces::shared>(in_.core(), to, header, block.shared());
  } else {
    header.inline_size = static_cast<std::uint8_t>(block.size());
    copy_bytes(block.bytes(), header.place);
    multicast_piece<&Pieces::brief>(in_.core(), to, header);
  }
}

// --- payloads

void Operation::expect(Rank source, std::uint32_t phase, std::span<std::byte> place) {
  {
    const sync::Lock lock(in_.mutex_);
    places_.push_back({source.value(), phase, place});
  }
  send(source, kReady + phase);
}

Operation::Receive Operation::ready(Rank target, std::uint32_t phase) {
  return receive(target, kReady + phase);
}

void Operation::send_payload(Rank target, std::uint32_t phase, std::span<const std::byte> bytes) {
  in_.send_payload(target, bytes, header(phase), [&in = in_, released = header(kReleased + phase)] {
    in.on_piece(released, {});
  });
}

Operation::Receive Operation::released(std::uint32_t phase) {
  return receive(rank_, kReleased + phase);
}

// --- multicasts of payloads

std::uint64_t Operation::begin_multicast(std::span<const std::byte> bytes, std::uint32_t phase) {
  const auto then = [&in = in_, over = header(kReleased + phase)] { in.on_piece(over, {}); };
  TeamCore& core = in_.core();
  std::vector<Rank> children = multicast_place(core, rank_).children;
  return PayloadMulticasts::of(core).begin(bytes, std::move(children), then).number;
}

void Operation::join_multicast(Rank source, std::uint64_t multicast, std::span<std::byte> place,
                               std::uint32_t phase) {
  const auto then = [&in = in_, over = header(kReleased + phase)] { in.on_piece(over, {}); };
  TeamCore& core = in_.core();
  PayloadMulticasts::of(core).join({core.to_world(source).value(), multicast, false},
                                   multicast_place(core, source), place, {.done = then});
}

Operation::InHandler Operation::in_handler() { return InHandler(*this); }

void Operation::InHandler::await_suspend(std::coroutine_handle<> handle) {
  TeamCore& core = operation_.in_.core();
  Messenger& messenger = core.messenger();
  auto event = make_event(core, "a collective operation",
                          [kept = operation_.shared_from_this(), handle] { handle.resume(); });
  sync::publish(event.get());
  messenger.fabric().port(messenger.rank()).post(event.release());
}

}  // namespace shoal::team
