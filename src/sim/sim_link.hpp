#pragma once
// One lane between two ranks of different simulated processes, both ends of it.

#include "sim/network.hpp"

#include <shoal/detail/net/link.hpp>

#include <vector>

namespace shoal::sim {

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
  void note(std::uint64_t time_ns, EventKind kind, const net::Packet& packet);

  Network& network_;
  const Network::Route way_;
  const std::uint64_t news_ns_;
  SimInlet inlet_;
  std::vector<net::Packet*> under_way_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t last_first_ns_ = 0;  // arrival of the first byte of the last packet in order
};

}  // namespace shoal::sim
