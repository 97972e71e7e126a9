#include "net/mpi/mpi_inlet.hpp"

#include <utility>

#include "net/mpi/mpi_inbox.hpp"

namespace shoal::net {

MpiInlet::MpiInlet(const Identity& identity, std::size_t report_bytes, Port& port, MpiInbox& inbox,
                   MpiSubmissions& submissions)
    : PortItem(identity.lane == Lane::urgent),
      identity_(identity),
      report_bytes_(report_bytes),
      port_(port),
      submissions_(submissions),
      report_(*this, inbox) {}

// Packets that were never taken need no acknowledgement any more. MPI may still write into
// incomplete ones, so they are not freed.
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

// Packets in the port are older. If this is the port of the caller, only the caller takes packets
// from there. relaxed: both writers of posted_, the caller and the engine, are this thread.
void MpiInlet::hand_over(Packet* packet, DirectArrivals* direct) {
  if (identity_.lane == Lane::normal) {
    packet->owner = this;
    packet->accounted_bytes = packet->window_bytes();
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

PacketList MpiInlet::take_arrivals() {
  const sync::Lock lock(mutex_);
  posted_.store(false, std::memory_order_relaxed);
  return std::move(arrived_);
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
