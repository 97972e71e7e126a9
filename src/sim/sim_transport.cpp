// The transports of the simulated processes.

#include "sim/network.hpp"
#include "sim/sim_link.hpp"

#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace shoal::sim {

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

}  // namespace shoal::sim
