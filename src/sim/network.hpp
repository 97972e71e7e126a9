#pragma once
// The simulated network: takes the place of MPI between the processes of a simulated world.

#include "sim/faults.hpp"
#include "sim/net_model.hpp"
#include "sim/simulator.hpp"

#include <shoal/detail/net/transport.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal::sim {

class Memory;
class SimLink;

/// Traffic that has left the processes so far.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t payloads = 0;
  std::uint64_t bytes = 0;  // of both, headers included
};

/// Joins the transports of all simulated processes. Packets are the same objects at both ends; they
/// are sealed when they leave and verified when they arrive, as over a real network.
class Network {
 public:
  /// Errors: ConfigError when a process would lie on two nodes.
  Network(Simulator& simulator, const NetModel& model, Faults& faults, const net::Layout& layout,
          const net::LinkOptions& link_options);
  ~Network();

  [[nodiscard]] Simulator& simulator() { return simulator_; }
  /// Sets the memory in which payloads from other nodes arrive, before the first payload; nullptr:
  /// memory costs nothing.
  void set_memory(Memory* memory) { memory_ = memory; }
  /// Transport of process p's fabric. Lives as long as the network.
  [[nodiscard]] net::Transport& transport(int process);
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  /// Calls visitor(const SimLink&) for every link.
  template <class Visitor>
  void for_each_link(Visitor&& visitor) const {
    for (const SimLink* link : links_) visitor(*link);
  }
  /// Sent, awaited by their receivers, and not received. (The header of one that is not awaited may
  /// wait for its handler, in a run that is stuck.)
  [[nodiscard]] std::size_t payloads_under_way() const { return payloads_under_way_; }
  /// Packets and payloads that were sent and can never arrive, one line each.
  [[nodiscard]] std::vector<std::string> lost() const;

 private:
  class SimTransport;
  friend class SimLink;

  /// Connection of two processes.
  struct Route {
    const LogGP& costs;
    std::uint64_t& interface_free_ns;
  };
  struct Payload {
    std::span<const std::byte> source_bytes;
    std::span<std::byte> target_bytes;
    net::Completion* sent = nullptr;
    net::Completion* received = nullptr;
    std::uint64_t sent_ns = 0;
    Rank source{0};
    Rank target{0};
  };

  [[nodiscard]] net::Port& port(Rank rank);
  [[nodiscard]] Route route(Rank source, Rank target);
  /// Keeps the interface busy for `bytes`; when they have left.
  static std::uint64_t depart(const Route& route, std::uint64_t from_ns, std::uint64_t bytes);
  /// Time of arrival of a packet that left at `left_ns`, by the order of the seed and with its
  /// fault.
  std::uint64_t arrival_ns(Rank source, Rank target, std::uint64_t left_ns, const Mishap& mishap);
  /// Fate of a packet or payload that leaves now, by the plan of faults.
  Mishap draw_mishap(Rank source, Rank target, bool is_payload);
  Payload& payload(int process, std::uint32_t tag) { return payloads_[{process, tag}]; }
  void move_payload(int process, std::uint32_t tag);
  void note(const TraceEvent& event);
  void carry_payload(const Payload& payload, std::uint64_t from_ns);
  void end_payload(const Payload& payload, bool corrupt);

  Simulator& simulator_;
  Memory* memory_ = nullptr;
  const NetModel model_;
  Faults& faults_;
  const net::Layout layout_;
  const net::LinkOptions link_options_;
  std::vector<std::uint64_t> near_free_ns_;  // when each process may send again in its node,
  std::vector<std::uint64_t> far_free_ns_;   // and each node to others
  Traffic traffic_;
  std::vector<std::unique_ptr<SimTransport>> transports_;      // of each process,
  std::vector<net::Fabric*> fabrics_;                          // and what it is attached to
  std::map<std::pair<int, std::uint32_t>, Payload> payloads_;  // by source process and tag
  std::vector<SimLink*> links_;                                // all that were made
  std::size_t payloads_under_way_ = 0;
  std::vector<std::string> lost_payloads_;
};

/// Damages bytes, at least one.
void flip_a_bit(std::span<std::byte> bytes, Faults& faults);

}  // namespace shoal::sim
