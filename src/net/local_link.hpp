#pragma once
// A link between two ranks of one process: the target rank's own progress takes the packets.

#include <shoal/detail/net/link.hpp>

namespace shoal::net {

class LocalLink final : public Link, public PortItem {
 public:
  LocalLink(Rank source, Rank target, Lane lane, const LinkOptions& options, Port& port)
      : Link(source, target, lane, options), PortItem(lane == Lane::urgent), port_(port) {}

  [[nodiscard]] const Link* link() const override { return this; }
  PacketList take_arrivals() override { return take(); }

 protected:
  void announce(bool /*polls_next*/) override { port_.post(this); }

 private:
  Port& port_;
};

}  // namespace shoal::net
