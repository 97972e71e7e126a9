#include "net/local/local_link.hpp"

namespace shoal::net {

void LocalLink::deliver(Receiver& receiver) {
  receiver.before_take(*this);
  PacketList packets = take();
  while (Packet* packet = packets.pop_front()) receiver.on_packet(packet);
}

}  // namespace shoal::net
