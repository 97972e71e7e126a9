#pragma once
// The simulated network: takes the place of MPI between the processes of a simulated world.

#include "sim/faults.hpp"
#include "sim/intake.hpp"
#include "sim/net_model.hpp"
#include "sim/simulator.hpp"

#include <shoal/detail/net/transport.hpp>

#include <deque>
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
class Network final : private Receiver {
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

  /// Network interface of a process within its node, or of a node.
  struct Interface {
    explicit Interface(Simulator& simulator) : intake(simulator) {}
    std::uint64_t free_ns = 0;  // when it may send again
    Intake intake;
  };
  /// Connection of two processes.
  struct Route {
    Route(const LogGP& costs, Interface& from, Interface& to)
        : costs(costs), from(from), to(to), travel_ns(costs.travel_ns()) {}
    const LogGP& costs;
    Interface& from;
    Interface& to;
    const std::uint64_t travel_ns;
  };
  /// Time on the way of a packet that leaves.
  struct Passage {
    std::uint64_t left_ns;   // when it has left
    std::uint64_t first_ns;  // arrival of its first byte
    std::uint64_t busy_ns;   // time that it keeps an interface busy
  };
  /// Source process and tag.
  using PayloadKey = std::pair<int, std::uint32_t>;
  struct Payload {
    std::span<const std::byte> source_bytes;
    std::span<std::byte> target_bytes;
    net::Completion* sent = nullptr;
    net::Completion* received = nullptr;
    Rank source{0};
    Rank target{0};
    bool is_here = false;  // all bytes have arrived; perhaps before the receiver has a place
    bool corrupt = false;
    bool uses_memory = false;  // which says when it is there

    [[nodiscard]] bool is_awaited() const { return sent != nullptr && received != nullptr; }
  };

  [[nodiscard]] net::Port& port(Rank rank);
  [[nodiscard]] Route route(Rank source, Rank target);
  /// Sends `bytes` as soon as the interface is free.
  static Passage depart(const Route& route, std::uint64_t from_ns, std::uint64_t bytes);
  /// Changes the passage of a packet by the order of the seed and its fault.
  void disturb(Passage& passage, const Route& route, Rank source, Rank target,
               const Mishap& mishap);
  static void receive(const Route& route, Simulator& simulator, const Reception& reception);
  /// Fate of a packet or payload that leaves now, by the plan of faults.
  Mishap draw_mishap(Rank source, Rank target, bool is_payload);
  Payload& payload(PayloadKey key) { return payloads_[key]; }
  [[nodiscard]] bool is_eager(const Payload& payload);
  void on_sent(PayloadKey key);
  void on_awaited(PayloadKey key);
  void on_both_known(PayloadKey key);
  void invite_payload(PayloadKey key);
  void note(const TraceEvent& event);
  void carry_payload(PayloadKey key);
  void begun(const Reception& payload, std::uint64_t end_ns) override;
  void received(const Reception& payload) override;
  void on_payload_here(PayloadKey key);
  void end_payload(PayloadKey key);

  Simulator& simulator_;
  Memory* memory_ = nullptr;
  const NetModel model_;
  Faults& faults_;
  const net::Layout layout_;
  const net::LinkOptions link_options_;
  std::deque<Interface> near_;  // of each process within its node,
  std::deque<Interface> far_;   // and of each node to others
  Traffic traffic_;
  std::vector<std::unique_ptr<SimTransport>> transports_;  // of each process,
  std::vector<net::Fabric*> fabrics_;                      // and what it is attached to
  std::map<PayloadKey, Payload> payloads_;                 // that have not ended
  std::vector<SimLink*> links_;                            // all that were made
  std::size_t payloads_under_way_ = 0;
  std::vector<std::string> lost_payloads_;
};

/// Damages bytes, at least one.
void flip_a_bit(std::span<std::byte> bytes, Faults& faults);

}  // namespace shoal::sim
