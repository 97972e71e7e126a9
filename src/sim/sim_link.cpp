#include "sim/sim_link.hpp"

#include <shoal/detail/net/pieces.hpp>

#include <algorithm>
#include <utility>

namespace shoal::sim {

namespace {

// The owner, if it still exists, is not notified.
void discard(net::Packet* packet) {
  packet->owner = nullptr;
  packet->release();
}

net::Packet* copy_of(net::Packet* packet) {
  net::Packet* const copy = net::Packet::create(packet->header().size_bytes);
  copy->header() = packet->header();
  std::ranges::copy(packet->messages(), copy->body());
  if (packet->apart != nullptr) copy->apart = std::make_unique<net::PacketPieces>(*packet->apart);
  return copy;
}

void corrupt(net::Packet& packet, Faults& faults) {
  if (packet.pieces() == nullptr || faults.any() % 2 == 0) return flip_a_bit(packet.wire(), faults);
  packet.apart->pieces = packet.pieces()->copy();  // not the sender's memory
  const std::span<const std::byte> bytes = packet.pieces()->list.back().bytes;
  flip_a_bit({const_cast<std::byte*>(bytes.data()), bytes.size()}, faults);
}

}  // namespace

SimLink::SimLink(const Identity& identity, const net::LinkOptions& options, Network& network)
    : Link(identity.source, identity.target, identity.lane, options),
      network_(network),
      way_(network.route(identity.source, identity.target)),
      news_ns_(network.route(identity.target, identity.source).travel_ns),
      inlet_(*this, identity.lane, network.port(identity.target)) {}

SimLink::~SimLink() {
  for (net::Packet* packet : under_way_) discard(packet);
}

// Until the interface of the process is free, further messages share the packet.
void SimLink::announce(bool /*polls_next*/) {
  const sync::Quiet quiet;
  network_.simulator().at(way_.from.free_ns, [this] { carry(); });
}

void SimLink::carry() {
  net::PacketList packets = take();
  while (net::Packet* packet = packets.pop_front()) send(packet);
}

void SimLink::send(net::Packet* packet) {
  Simulator& simulator = network_.simulator();
  packet->seal(next_sequence_++);
  ++network_.traffic_.packets;
  const std::size_t bytes = packet->wire().size() + packet->piece_bytes();
  network_.traffic_.bytes += bytes;
  Network::Passage passage = Network::depart(way_, simulator.now_ns(), bytes);
  note(passage.left_ns, EventKind::departure, *packet);
  const Mishap mishap = network_.draw_mishap(source(), target(), false);
  if (mishap.drop) {
    discard(packet);
    return;
  }
  network_.disturb(passage, way_, source(), target(), mishap);
  const std::uint64_t in_order = std::max(passage.first_ns, last_first_ns_ + 1);
  if (mishap.duplicate) bring(copy_of(packet), in_order + 1, passage.busy_ns);
  if (mishap.overtaken_ns > 0) {
    bring(packet, passage.first_ns + mishap.overtaken_ns, passage.busy_ns);
  } else {
    last_first_ns_ = in_order;
    bring(packet, in_order, passage.busy_ns);
  }
  if (mishap.corrupt) corrupt(*packet, network_.faults_);
}

void SimLink::bring(net::Packet* packet, std::uint64_t first_ns, std::uint64_t busy_ns) {
  under_way_.push_back(packet);
  Network::receive(way_, network_.simulator(),
                   {first_ns, busy_ns, this, packet, packet->wire().size()});
}

void SimLink::received(const Reception& reception) {
  arrive(static_cast<net::Packet*>(reception.item), reception.number);
}

void SimLink::arrive(net::Packet* packet, std::size_t bytes) {
  note(network_.simulator().now_ns(), EventKind::arrival, *packet);
  inlet_.arrive(packet, bytes);  // still ours if that throws
  std::erase(under_way_, packet);
}

void SimLink::note(std::uint64_t time_ns, EventKind kind, const net::Packet& packet) {
  const TraceEvent event{time_ns,
                         kind,
                         static_cast<std::uint32_t>(source().value()),
                         static_cast<std::uint32_t>(target().value()),
                         static_cast<std::uint32_t>(lane()),
                         packet.header().sequence};
  network_.simulator().trace().add(event);
  network_.simulator().log().add(event, packet);
}

SimInlet::~SimInlet() { arrived_.discard(); }

void SimInlet::arrive(net::Packet* packet, std::size_t bytes) {
  packet->verify(bytes, next_sequence_);
  ++next_sequence_;
  if (packet->pieces() != nullptr) {
    // The sender's memory is read before it may be freed.
    net::open_pieces(*packet, packet->pieces()->copy());
    packet->apart->pieces = nullptr;
  }
  packet->owner = this;
  arrived_.push_back(packet);
  if (!std::exchange(posted_, true)) port_.post(this);
}

net::PacketList SimInlet::take_arrivals() {
  posted_ = false;
  return std::move(arrived_);
}

// The report takes as long as a packet without messages.
void SimInlet::consumed(std::size_t bytes) {
  const sync::Quiet quiet;
  Network& network = link_.network();
  Simulator& simulator = network.simulator();
  simulator.at(simulator.now_ns() + link_.news_ns(), [this, bytes] { link_.consumed(bytes); });
}

}  // namespace shoal::sim
