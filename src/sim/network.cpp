#include "sim/network.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/net/pieces.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include "sim/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace shoal::sim {

// One that is being received is never overtaken: its first byte is in the past.
void Intake::add(const Reception& reception) {
  if (coming_.empty() || coming_.back().first_ns <= reception.first_ns) {
    coming_.push_back(reception);
    if (coming_.size() == 1) plan();
    return;
  }
  const auto after =
      std::ranges::upper_bound(coming_, reception.first_ns, {}, &Reception::first_ns);
  const bool is_next = after == coming_.begin();
  coming_.insert(after, reception);
  if (is_next) plan();
}

void Intake::plan() {
  const Reception& next = coming_.front();
  const std::uint64_t begin_ns = std::max(next.first_ns, free_ns_);
  const std::uint64_t time_ns = next.tells_begin ? begin_ns : begin_ns + next.busy_ns;
  simulator_.at(time_ns, [this, version = ++version_] {
    if (version == version_) advance();
  });
}

void Intake::advance() {
  const Reception next = coming_.front();
  if (next.tells_begin) {
    coming_.front().tells_begin = false;
    plan();
    return next.receiver->begun(next, simulator_.agenda_ns() + next.busy_ns);
  }
  coming_.pop_front();
  free_ns_ = simulator_.agenda_ns();
  if (!coming_.empty()) plan();
  next.receiver->received(next);
}

void flip_a_bit(std::span<std::byte> bytes, Faults& faults) {
  const std::uint64_t bit = faults.any() % (8 * bytes.size());
  bytes[bit / 8] ^= std::byte{1} << bit % 8;
}

net::Port& Network::port(Rank rank) {
  return fabrics_[static_cast<std::size_t>(layout_.process_of(rank))]->port(rank);
}

Network::Route Network::route(Rank source, Rank target) {
  const auto of = [this](std::deque<Interface>& interfaces, Rank rank, bool by_node) -> Interface& {
    const int index = by_node ? model_.node_of(rank) : layout_.process_of(rank);
    return interfaces[static_cast<std::size_t>(index)];
  };
  const bool has_nodes = model_.ranks_per_node > 1;
  if (has_nodes && model_.node_of(source) == model_.node_of(target)) {
    return {model_.near, of(near_, source, false), of(near_, target, false)};
  }
  return {model_.far, of(far_, source, has_nodes), of(far_, target, has_nodes)};
}

Network::Passage Network::depart(const Route& route, std::uint64_t from_ns, std::uint64_t bytes) {
  std::uint64_t& free_ns = route.from.free_ns;
  const std::uint64_t begin_ns = std::max(free_ns, from_ns);
  const std::uint64_t busy_ns = route.costs.busy_ns(bytes);
  free_ns = begin_ns + busy_ns;
  return {free_ns, begin_ns + route.travel_ns, busy_ns};
}

void Network::disturb(Passage& passage, const Route& route, Rank source, Rank target,
                      const Mishap& mishap) {
  const std::uint64_t late_ns =
      faults_.clogged_until(source, target, passage.left_ns) - passage.left_ns + mishap.delay_ns;
  const std::uint64_t stretched_ns = simulator_.order().travel_ns(source, target, route.travel_ns);
  passage.first_ns += stretched_ns - route.travel_ns + late_ns;
}

// Where nothing takes time on an interface, the seed decides which of two packets comes first.
void Network::receive(const Route& route, Simulator& simulator, const Reception& reception) {
  if (!route.costs.is_instant()) return route.to.intake.add(reception);
  simulator.at(reception.first_ns, [reception] {
    if (reception.tells_begin) reception.receiver->begun(reception, reception.first_ns);
    reception.receiver->received(reception);
  });
}

bool Network::is_eager(const Payload& payload) {
  return payload.source_bytes.size() <= route(payload.source, payload.target).costs.eager_bytes;
}

// An eager payload leaves when it is sent, behind what its rank has sent before.
void Network::on_sent(PayloadKey key) {
  const Payload& payload = payloads_.at(key);
  if (is_eager(payload)) simulator_.at(simulator_.now_ns(), [this, key] { carry_payload(key); });
  if (payload.is_awaited()) on_both_known(key);
}

void Network::on_awaited(PayloadKey key) {
  if (payloads_.at(key).is_awaited()) on_both_known(key);
}

// Both sides are notified only after the header was handled: see
// team::PacketReader::unprocessed().
void Network::on_both_known(PayloadKey key) {
  const Payload& payload = payloads_.at(key);
  ++payloads_under_way_;
  SHOAL_CHECK(payload.source_bytes.size() == payload.target_bytes.size(),
              "a payload of {} bytes from rank {} met a place of {} bytes",
              payload.source_bytes.size(), payload.source.value(), payload.target_bytes.size());
  if (!is_eager(payload)) {
    invite_payload(key);
  } else if (payload.is_here) {
    simulator_.at(simulator_.now_ns(), [this, key] { end_payload(key); });
  }
}

// A payload that is not eager leaves when the sender knows the receiver's place.
void Network::invite_payload(PayloadKey key) {
  const Payload& payload = payloads_.at(key);
  const std::uint64_t travel_ns = route(payload.source, payload.target).travel_ns;
  simulator_.at(simulator_.now_ns() + travel_ns, [this, key] { carry_payload(key); });
}

Mishap Network::draw_mishap(Rank source, Rank target, bool is_payload) {
  const Mishap mishap = faults_.draw(source, target, is_payload);
  if (mishap.any()) {
    note({simulator_.now_ns(), EventKind::mishap, static_cast<std::uint32_t>(source.value()),
          static_cast<std::uint32_t>(target.value()), 0, 0});
  }
  return mishap;
}

void Network::note(const TraceEvent& event) {
  simulator_.trace().add(event);
  simulator_.log().add(event);
}

void Network::carry_payload(PayloadKey key) {
  Payload& payload = payloads_.at(key);
  const auto [source, target] = std::pair(payload.source, payload.target);
  const std::size_t bytes = payload.source_bytes.size();
  ++traffic_.payloads;
  traffic_.bytes += bytes;
  const Route way = route(source, target);
  Passage passage = depart(way, simulator_.agenda_ns(), bytes);
  const Mishap mishap = draw_mishap(source, target, true);
  if (mishap.drop) {
    lost_payloads_.push_back(fmt::format("the payload of a large message of rank {} for rank {}",
                                         source.value(), target.value()));
    return;
  }
  payload.corrupt = mishap.corrupt;
  disturb(passage, way, source, target, mishap);
  const bool uses_memory =
      memory_ != nullptr && !memory_->same_node(source.value(), target.value());
  const auto number = static_cast<std::uint64_t>(key.first) << 32U | key.second;
  receive(way, simulator_, {passage.first_ns, passage.busy_ns, this, nullptr, number, uses_memory});
}

namespace {

std::pair<int, std::uint32_t> key_of(const Reception& payload) {
  return {static_cast<int>(payload.number >> 32U), static_cast<std::uint32_t>(payload.number)};
}

}  // namespace

// The memory is used from the arrival of the first byte on. The last byte arrives when both the
// network and the memory have transferred it.
void Network::begun(const Reception& payload, std::uint64_t end_ns) {
  const PayloadKey key = key_of(payload);
  Payload& arriving = payloads_.at(key);
  arriving.uses_memory = true;
  memory_->begin_transfer(
      arriving.target.value(), static_cast<double>(arriving.source_bytes.size()),
      [this, key, end_ns] { simulator_.at(end_ns, [this, key] { on_payload_here(key); }); });
}

void Network::received(const Reception& payload) {
  const PayloadKey key = key_of(payload);
  if (memory_ == nullptr) return on_payload_here(key);
  // Else it may have ended already.
  const auto found = payloads_.find(key);
  if (found != payloads_.end() && !found->second.uses_memory) on_payload_here(key);
}

void Network::on_payload_here(PayloadKey key) {
  Payload& payload = payloads_.at(key);
  payload.is_here = true;
  if (payload.is_awaited()) end_payload(key);
}

void Network::end_payload(PayloadKey key) {
  const Payload payload = payloads_.extract(key).mapped();
  const std::size_t bytes = payload.source_bytes.size();
  if (bytes > 0 && !simulator_.is_dry()) {
    sync::Strand carrier;
    carrier.set_name("the transport of a payload");
    carrier.run([payload] {
      sync::observe(payload.sent);
      sync::observe(payload.received);
      std::memcpy(payload.target_bytes.data(), payload.source_bytes.data(),
                  payload.source_bytes.size());
      sync::publish(payload.sent);
      sync::publish(payload.received);
    });
    if (payload.corrupt) flip_a_bit(payload.target_bytes, faults_);
  }
  note({simulator_.now_ns(), EventKind::payload, static_cast<std::uint32_t>(payload.source.value()),
        static_cast<std::uint32_t>(payload.target.value()), 0, bytes});
  --payloads_under_way_;
  port(payload.source).post(payload.sent);
  port(payload.target).post(payload.received);
}

std::vector<std::string> Network::lost() const {
  std::vector<std::string> lines = lost_payloads_;
  for (const SimLink* link : links_) {
    if (link->missing() == 0) continue;
    lines.push_back(fmt::format("{} of the packets of rank {} for rank {}", link->missing(),
                                link->source().value(), link->target().value()));
  }
  return lines;
}

/// The network as one process sees it.
class Network::SimTransport final : public net::Transport {
 public:
  SimTransport(Network& network, int process) : network_(network), process_(process) {}

  [[nodiscard]] net::Layout layout() const override {
    net::Layout layout = network_.layout_;
    layout.process = process_;
    return layout;
  }
  void attach(net::Fabric& fabric) override {
    network_.fabrics_[static_cast<std::size_t>(process_)] = &fabric;
  }
  std::unique_ptr<net::Link> make_link(Rank source, Rank target, net::Lane lane) override {
    auto link = std::make_unique<SimLink>(SimLink::Identity{source, target, lane},
                                          network_.link_options_, network_);
    network_.links_.push_back(link.get());
    return link;
  }
  // Does nothing: arrivals are on the simulator's agenda.
  bool poll(bool, net::DirectArrivals*) override { return false; }
  env::Steppable* engine() override { return nullptr; }

  std::uint32_t new_payload_tag() override { return next_tag_++; }
  void send_payload(Rank source, Rank target, std::uint32_t tag, std::span<const std::byte> bytes,
                    net::Completion* done) override {
    const sync::Quiet quiet;
    Payload& payload = network_.payload({process_, tag});
    payload.source_bytes = bytes;
    payload.sent = done;
    payload.source = source;
    payload.target = target;
    network_.on_sent({process_, tag});
  }
  void receive_payload(Rank source, Rank target, std::uint32_t tag, std::span<std::byte> bytes,
                       net::Completion* done) override {
    const sync::Quiet quiet;
    const int from = network_.layout_.process_of(source);
    Payload& payload = network_.payload({from, tag});
    payload.target_bytes = bytes;
    payload.received = done;
    payload.target = target;
    network_.on_awaited({from, tag});
  }

  // The processes of a simulated world are made by one process: there is nothing to exchange.
  std::vector<std::string> exchange(const std::string& mine) override {
    return std::vector<std::string>(static_cast<std::size_t>(network_.layout_.process_count()),
                                    mine);
  }
  void finish() override {}
  void abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  Network& network_;
  const int process_;
  std::uint32_t next_tag_ = 1;
};

Network::Network(Simulator& simulator, const NetModel& model, Faults& faults,
                 const net::Layout& layout, const net::LinkOptions& link_options)
    : simulator_(simulator),
      model_(model),
      faults_(faults),
      layout_(layout),
      link_options_(link_options) {
  if (model.ranks_per_node > 1 && model.ranks_per_node % layout.ranks_per_process != 0) {
    throw ConfigError(fmt::format(
        "--sim-node-ranks {} is not a multiple of --ranks-per-process {}: a process would lie on "
        "two nodes",
        model.ranks_per_node, layout.ranks_per_process));
  }
  const int nodes = (layout.world_size - 1) / model.ranks_per_node + 1;
  for (int i = 0; i < layout.process_count(); ++i) near_.emplace_back(simulator);
  for (int i = 0; i < std::max(layout.process_count(), nodes); ++i) far_.emplace_back(simulator);
  fabrics_.resize(static_cast<std::size_t>(layout.process_count()));
  for (int process = 0; process < layout.process_count(); ++process) {
    transports_.push_back(std::make_unique<SimTransport>(*this, process));
  }
}

Network::~Network() = default;

net::Transport& Network::transport(int process) {
  return *transports_[static_cast<std::size_t>(process)];
}

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
  if (packet->out_of_band != nullptr)
    copy->out_of_band = std::make_unique<net::PacketPieces>(*packet->out_of_band);
  return copy;
}

void corrupt(net::Packet& packet, Faults& faults) {
  if (packet.pieces() == nullptr || faults.any() % 2 == 0) return flip_a_bit(packet.wire(), faults);
  packet.out_of_band->pieces = packet.pieces()->copy();  // not the sender's memory
  const std::span<const std::byte> bytes = packet.pieces()->list.back().bytes;
  flip_a_bit({const_cast<std::byte*>(bytes.data()), bytes.size()}, faults);
}

/// Whether a packet that arrives as so many bytes is as it was sent.
bool is_whole(net::Packet& packet, std::size_t bytes) {
  return packet.wire().size() == bytes && packet.is_intact(packet.header().sequence);
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
  note(passage.left_ns, EventKind::departure, *packet, true);
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
  // The log names the messages, which cannot be read in a damaged packet.
  const bool is_legible = !network_.simulator().log().is_kept() || is_whole(*packet, bytes);
  note(network_.simulator().now_ns(), EventKind::arrival, *packet, is_legible);
  inlet_.arrive(packet, bytes);  // still ours if that throws
  std::erase(under_way_, packet);
}

void SimLink::note(std::uint64_t time_ns, EventKind kind, const net::Packet& packet,
                   bool is_legible) {
  const TraceEvent event{time_ns,
                         kind,
                         static_cast<std::uint32_t>(source().value()),
                         static_cast<std::uint32_t>(target().value()),
                         static_cast<std::uint32_t>(lane()),
                         packet.header().sequence};
  network_.simulator().trace().add(event);
  if (is_legible) {
    network_.simulator().log().add(event, packet);
  } else {
    network_.simulator().log().add(event);
  }
}

SimInlet::~SimInlet() { arrived_.discard(); }

void SimInlet::arrive(net::Packet* packet, std::size_t bytes) {
  packet->verify(bytes, next_sequence_);
  ++next_sequence_;
  if (packet->pieces() != nullptr) {
    // The sender's memory is read before it may be freed.
    net::open_pieces(*packet, packet->pieces()->copy());
    packet->out_of_band->pieces = nullptr;
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
