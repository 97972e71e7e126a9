#include "net/mpi/mpi_inlet.hpp"

#include <utility>

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

void MpiInlet::add(Packet* packet, DirectArrivals* direct) {
  if (held_.empty()) {
    hand_over(packet, direct);
  } else {
    held_.push_back({packet, true});
  }
}

void MpiInlet::complete(Packet* packet) {
  for (Held& held : held_) {
    if (held.packet == packet) held.complete = true;
  }
  while (!held_.empty() && held_.front().complete) {
    hand_over(held_.front().packet, nullptr);
    held_.pop_front();
  }
}

// Those in the port are older. Nobody takes them from there meanwhile: that is the caller's to do,
// if this is its port. relaxed: so both who write posted_, this one and the engine, are here.
void MpiInlet::hand_over(Packet* packet, DirectArrivals* direct) {
  if (identity_.lane == Lane::normal) {
    packet->owner = this;
    packet->accounted_bytes = packet->header().size_bytes;
  }
  if (direct != nullptr && direct->port == &port_ && !posted_.load(std::memory_order_relaxed)) {
    direct->packets.push_back(packet);
    return;
  }
  bool post = false;
  {
    const sync::Lock lock(mutex_);
    arrived_.push_back(packet);
    post = !posted_.exchange(true, std::memory_order_relaxed);
  }
  if (post) port_.post(this);
}

void MpiInlet::deliver(Receiver& receiver) {
  PacketList packets;
  {
    const sync::Lock lock(mutex_);
    packets = std::move(arrived_);
    posted_.store(false, std::memory_order_relaxed);
  }
  while (Packet* packet = packets.pop_front()) receiver.on_packet(packet);
}

void MpiInlet::consumed(std::size_t bytes) {
  if (bytes == 0) return;
  // acq_rel: see take_unreported().
  const std::size_t before = unreported_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  if (before == 0) submissions_.submit_quietly(report_);
  if (before >= report_bytes_ || before + bytes < report_bytes_) return;
  submissions_.report_soon();
  submissions_.nudge();
}

}  // namespace shoal::net
