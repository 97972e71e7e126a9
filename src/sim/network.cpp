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
  const auto process = static_cast<std::size_t>(layout_.process_of(source));
  if (model_.ranks_per_node == 1) return {model_.far, far_free_ns_[process]};
  const int node = model_.node_of(source);
  if (node == model_.node_of(target)) return {model_.near, near_free_ns_[process]};
  return {model_.far, far_free_ns_[static_cast<std::size_t>(node)]};
}

std::uint64_t Network::depart(const Route& route, std::uint64_t from_ns, std::uint64_t bytes) {
  std::uint64_t& free_ns = route.interface_free_ns;
  free_ns = std::max(free_ns, from_ns) + route.costs.busy_ns(bytes);
  return free_ns;
}

std::uint64_t Network::arrival_ns(Rank source, Rank target, std::uint64_t left_ns,
                                  const Mishap& mishap) {
  const std::uint64_t travel_ns = route(source, target).costs.travel_ns();
  return faults_.clogged_until(source, target, left_ns) +
         simulator_.order().travel_ns(source, target, travel_ns) + mishap.delay_ns;
}

// An eager payload is in flight from the time it was sent; a larger one leaves when the sender
// knows the receiver's place. Both sides are notified only after its header was handled: see
// messaging::PacketReader::unprocessed().
void Network::move_payload(int process, std::uint32_t tag) {
  const Payload payload = payloads_.extract({process, tag}).mapped();
  ++payloads_under_way_;
  SHOAL_CHECK(payload.source_bytes.size() == payload.target_bytes.size(),
              "a payload of {} bytes from rank {} met a place of {} bytes",
              payload.source_bytes.size(), payload.source.value(), payload.target_bytes.size());
  const LogGP& costs = route(payload.source, payload.target).costs;
  if (payload.source_bytes.size() <= costs.eager_bytes) {
    carry_payload(payload, payload.sent_ns);
    return;
  }
  const std::uint64_t start_ns = simulator_.now_ns() + costs.travel_ns();
  simulator_.at(start_ns, [this, payload, start_ns] { carry_payload(payload, start_ns); });
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

void Network::carry_payload(const Payload& payload, std::uint64_t from_ns) {
  const auto [source, target] = std::pair(payload.source, payload.target);
  ++traffic_.payloads;
  traffic_.bytes += payload.source_bytes.size();
  const std::uint64_t left = depart(route(source, target), from_ns, payload.source_bytes.size());
  const Mishap mishap = draw_mishap(source, target, true);
  if (mishap.drop) {
    lost_payloads_.push_back(fmt::format("the payload of a large message of rank {} for rank {}",
                                         source.value(), target.value()));
    return;
  }
  const std::uint64_t arrival = arrival_ns(source, target, left, mishap);
  const auto end = [this, payload, corrupt = mishap.corrupt] { end_payload(payload, corrupt); };
  if (memory_ == nullptr || memory_->same_node(source.value(), target.value())) {
    simulator_.at(arrival, end);
    return;
  }
  // The memory is used from the arrival of the first byte on. The last byte arrives when both the
  // network and the memory have transferred it.
  const LogGP& costs = route(source, target).costs;
  const auto bytes = payload.source_bytes.size();
  simulator_.at(left - costs.busy_ns(bytes) + costs.travel_ns(),
                [this, target, bytes, arrival, end] {
                  memory_->begin_transfer(target.value(), static_cast<double>(bytes),
                                          [this, arrival, end] { simulator_.at(arrival, end); });
                });
}

void Network::end_payload(const Payload& payload, bool corrupt) {
  const std::size_t bytes = payload.source_bytes.size();
  if (bytes > 0 && !simulator_.is_dry()) {
    sync::Strand carrier;
    carrier.run([payload] {
      sync::observe(payload.sent);
      sync::observe(payload.received);
      std::memcpy(payload.target_bytes.data(), payload.source_bytes.data(),
                  payload.source_bytes.size());
      sync::publish(payload.sent);
      sync::publish(payload.received);
    });
    carrier.set_name("the transport of a payload");
    if (corrupt) flip_a_bit(payload.target_bytes, faults_);
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
