#pragma once
// The simulated network: what stands in for MPI between the processes of a simulated world.

#include "sim/net_model.hpp"
#include "sim/simulator.hpp"

#include <shoal/net/transport.hpp>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace shoal::sim {

class SimInlet;
class SimLink;

/// Joins the transports of all simulated processes. Packets are the same objects at both ends; they
/// are sealed when they leave and verified when they arrive, as over a real network.
class Network {
 public:
  Network(Simulator& simulator, const LogGP& model, const net::Layout& layout,
          const net::LinkOptions& link_options);
  ~Network();

  [[nodiscard]] Simulator& simulator() { return simulator_; }
  [[nodiscard]] const LogGP& model() const { return model_; }
  /// What process p's fabric sends through. Lives as long as the network.
  [[nodiscard]] net::Transport& transport(int process);

 private:
  class SimTransport;
  friend class SimLink;

  struct Payload {
    std::span<const std::byte> source_bytes;
    std::span<std::byte> target_bytes;
    net::Event* sent = nullptr;
    net::Event* received = nullptr;
    std::uint64_t sent_ns = 0;
    Rank source{0};
    Rank target{0};
  };

  [[nodiscard]] net::Port& port(Rank rank);
  /// Keeps the interface of the process busy for `bytes`; when they have left.
  std::uint64_t depart(int process, std::uint64_t from_ns, std::uint64_t bytes);
  Payload& payload(int process, std::uint32_t tag) { return payloads_[{process, tag}]; }
  void move_payload(int process, std::uint32_t tag);
  void carry_payload(int process, const Payload& payload, std::uint64_t from_ns);
  void end_payload(const Payload& payload);

  Simulator& simulator_;
  const LogGP model_;
  const net::Layout layout_;
  const net::LinkOptions link_options_;
  std::vector<std::uint64_t> interface_free_ns_;  // by process
  std::vector<std::unique_ptr<SimTransport>> transports_;
  std::map<std::pair<int, std::uint32_t>, Payload> payloads_;  // by source process and tag
};

}  // namespace shoal::sim
