#include "sim/network.hpp"

#include "sim/memory.hpp"
#include "sim/sim_link.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace shoal::sim {

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
// messaging::PacketReader::unprocessed().
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

}  // namespace shoal::sim
