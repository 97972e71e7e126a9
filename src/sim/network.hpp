#pragma once
// The simulated network: takes the place of MPI between the processes of a simulated world.

#include <shoal/detail/net/link.hpp>
#include <shoal/detail/net/transport.hpp>

#include "sim/faults.hpp"
#include "sim/net_model.hpp"
#include "sim/simulator.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal::sim {

struct Reception;

/// Gets what an interface receives.
class Receiver {
 public:
  /// Called when the interface begins to receive it, if `tells_begin` is set.
  virtual void begun(const Reception& /*reception*/, std::uint64_t /*end_ns*/) {}
  /// Called when all of it has been received.
  virtual void received(const Reception& reception) = 0;

 protected:
  ~Receiver() = default;
};

/// A packet or payload that comes to an interface. Copied a lot, so without functions.
struct Reception {
  std::uint64_t first_ns = 0;  // arrival of its first byte, if the interface is free then
  std::uint64_t busy_ns = 0;   // time that it keeps the interface busy
  Receiver* receiver = nullptr;
  // Of the receiver.
  void* item = nullptr;
  std::uint64_t number = 0;
  bool tells_begin = false;
};

/// Receives one packet at a time, in the order in which their first bytes arrive. A packet that
/// finds the interface busy waits in the network.
class Intake {
 public:
  explicit Intake(Simulator& simulator) : simulator_(simulator) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  /// Its first byte does not arrive before now.
  void add(const Reception& reception);

 private:
  void plan();
  void advance();

  Simulator& simulator_;
  std::deque<Reception> coming_;  // by first_ns; the first one may be under way
  std::uint64_t free_ns_ = 0;     // end of the last one that was received
  std::uint64_t version_ = 0;     // of the next entry on the agenda; older ones are void
};

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

/// The receiving end: hands arrived packets to the target's progress.
class SimInlet final : public net::PortItem, public net::PacketOwner {
 public:
  SimInlet(SimLink& link, net::Lane lane, net::Port& port)
      : PortItem(lane == net::Lane::urgent), link_(link), port_(port) {}
  ~SimInlet();

  /// The next packet of the lane has arrived, as so many bytes. Errors: TransportError when it is
  /// not that one, or is damaged.
  void arrive(net::Packet* packet, std::size_t bytes);
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
  [[nodiscard]] bool empty() const { return arrived_.empty(); }
  net::PacketList take_arrivals() override;
  void consumed(std::size_t bytes) override;

 private:
  SimLink& link_;
  net::Port& port_;
  net::PacketList arrived_;
  bool posted_ = false;
  std::uint64_t next_sequence_ = 0;
};

/// The sending end, and the packets under way.
class SimLink final : public net::Link, private Receiver {
 public:
  struct Identity {
    Rank source{0};
    Rank target{0};
    net::Lane lane{};
  };

  SimLink(const Identity& identity, const net::LinkOptions& options, Network& network);
  ~SimLink() override;

  [[nodiscard]] Network& network() { return network_; }
  /// How long news takes to come back from the receiver.
  [[nodiscard]] std::uint64_t news_ns() const { return news_ns_; }
  /// Packets that left and have not arrived.
  [[nodiscard]] std::uint64_t missing() const { return next_sequence_ - inlet_.next_sequence(); }
  [[nodiscard]] bool all_delivered() const { return missing() == 0 && inlet_.empty(); }

 protected:
  void announce(bool polls_next) override;

 private:
  void carry();
  void send(net::Packet* packet);
  void bring(net::Packet* packet, std::uint64_t first_ns, std::uint64_t busy_ns);
  void received(const Reception& reception) override;
  void arrive(net::Packet* packet, std::size_t bytes);
  /// `is_legible`: the messages of the packet can be read.
  void note(std::uint64_t time_ns, EventKind kind, const net::Packet& packet, bool is_legible);

  Network& network_;
  const Network::Route way_;
  const std::uint64_t news_ns_;
  SimInlet inlet_;
  std::vector<net::Packet*> under_way_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t last_first_ns_ = 0;  // arrival of the first byte of the last packet in order
};

}  // namespace shoal::sim
