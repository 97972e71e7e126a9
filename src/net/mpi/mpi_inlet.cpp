#include "net/mpi/mpi_inlet.hpp"

#include "net/mpi/mpi_inbox.hpp"

namespace shoal::net {

MpiInlet::MpiInlet(const Identity& identity, std::size_t report_bytes, Port& port, MpiInbox& inbox,
                   MpiSubmissions& submissions)
    : identity_(identity),
      report_bytes_(report_bytes),
      port_(port),
      submissions_(submissions),
      report_(*this, inbox) {}

// Packets that nobody took: there is nobody to tell any more. Into incomplete ones MPI may still
// write: they are left to it.
MpiInlet::~MpiInlet() {
  const sync::Lock lock(mutex_);
  for (const Held& held : held_) {
    if (held.complete) arrived_.push_back(held.packet);
  }
  arrived_.discard();
}

void MpiInlet::Report::start() { inbox_.report_later(inlet_); }

void MpiInlet::add(Packet* packet, bool complete) {
  if (complete && held_.empty()) {
    hand_over(packet);
  } else {
    held_.push_back({packet, complete});
  }
}

void MpiInlet::complete(Packet* packet) {
  for (Held& held : held_) {
    if (held.packet == packet) held.complete = true;
  }
  while (!held_.empty() && held_.front().complete) {
    hand_over(held_.front().packet);
    held_.pop_front();
  }
}

void MpiInlet::hand_over(Packet* packet) {
  if (identity_.lane == Lane::normal) {
    packet->owner = this;
    packet->accounted_bytes = packet->header().size_bytes;
  }
  bool post = false;
  {
    const sync::Lock lock(mutex_);
    arrived_.push_back(packet);
    post = !std::exchange(posted_, true);
  }
  if (post) port_.post(this);
}

void MpiInlet::deliver(Receiver& receiver) {
  PacketList packets;
  {
    const sync::Lock lock(mutex_);
    packets = std::move(arrived_);
    posted_ = false;
  }
  while (Packet* packet = packets.pop_front()) receiver.on_packet(packet);
}

void MpiInlet::consumed(std::size_t bytes) {
  if (bytes == 0) return;
  // acq_rel: see take_unreported().
  const std::size_t before = unreported_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  if (before == 0) submissions_.submit_quietly(report_);
  if (before < report_bytes_ && before + bytes >= report_bytes_) submissions_.nudge();
}

}  // namespace shoal::net
