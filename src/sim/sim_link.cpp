#include "sim/sim_link.hpp"

#include <algorithm>
#include <utility>

namespace shoal::sim {

SimLink::SimLink(const Identity& identity, const net::LinkOptions& options, Network& network)
    : Link(identity.source, identity.target, identity.lane, options),
      network_(network),
      inlet_(*this, network.port(identity.target)) {}

SimLink::~SimLink() {
  take().clear();
  under_way_.discard();
}

// Until the interface of the process is free, further messages share the packet.
void SimLink::announce() {
  network_.simulator().at(network_.route(source(), target()).interface_free_ns,
                          [this] { carry(); });
}

void SimLink::carry() {
  net::PacketList packets = take();
  while (net::Packet* packet = packets.pop_front()) send(packet);
}

void SimLink::send(net::Packet* packet) {
  Simulator& simulator = network_.simulator();
  packet->seal(next_sequence_++);
  ++network_.traffic_.packets;
  network_.traffic_.bytes += packet->wire().size();
  const std::uint64_t left = Network::depart(network_.route(source(), target()), simulator.now_ns(),
                                             packet->wire().size());
  // The lane keeps its order.
  last_arrival_ns_ = std::max(left + network_.travel_ns(source(), target()), last_arrival_ns_ + 1);
  note(left, EventKind::departure, *packet);
  under_way_.push_back(packet);
  simulator.at(last_arrival_ns_, [this] { arrive(); });
}

void SimLink::arrive() {
  net::Packet* const packet = under_way_.pop_front();
  note(network_.simulator().now_ns(), EventKind::arrival, *packet);
  inlet_.arrive(packet);
}

void SimLink::note(std::uint64_t time_ns, EventKind kind, const net::Packet& packet) {
  network_.simulator().trace().add({time_ns, kind, static_cast<std::uint32_t>(source().value()),
                                    static_cast<std::uint32_t>(target().value()),
                                    static_cast<std::uint32_t>(lane()), packet.header().sequence});
}

SimInlet::~SimInlet() { arrived_.discard(); }

void SimInlet::arrive(net::Packet* packet) {
  packet->verify(packet->wire().size(), next_sequence_++);
  packet->owner = this;
  arrived_.push_back(packet);
  if (!std::exchange(posted_, true)) port_.post(this);
}

void SimInlet::deliver(net::Receiver& receiver) {
  posted_ = false;
  net::PacketList packets = std::move(arrived_);
  while (net::Packet* packet = packets.pop_front()) receiver.on_packet(packet);
}

// The news takes as long as a packet without messages.
void SimInlet::consumed(std::size_t bytes) {
  Network& network = link_.network();
  Simulator& simulator = network.simulator();
  simulator.at(simulator.now_ns() + link_.news_ns(), [this, bytes] { link_.consumed(bytes); });
}

}  // namespace shoal::sim
