#include "net/mpi/mpi_link.hpp"

#include <shoal/base/check.hpp>

#include "net/mpi/mpi_outbox.hpp"

namespace shoal::net {

MpiLink::MpiLink(Rank source, Rank target, Lane lane, const LinkOptions& options,
                 const Context& context)
    : Link(source, target, lane, options),
      index_(context.outbox.index_of(source, target, lane)),
      peer_(context.outbox.process_of(target)),
      submissions_(context.submissions),
      announcement_(*this, context.outbox) {}

MpiLink::~MpiLink() {
  submissions_.withdraw(*this);
  backlog_.discard();
}

void MpiLink::deliver(Receiver&) { SHOAL_CHECK(false, "a link to another process has no port"); }

void MpiLink::Announcement::start() { outbox_.announced(link_); }

Packet* MpiLink::next_packet() {
  if (backlog_.empty() && std::exchange(announced_, false)) backlog_ = take();
  Packet* const packet = backlog_.pop_front();
  if (packet == nullptr) return nullptr;
  packet->owner = nullptr;
  packet->header().sequence = next_sequence_++;
  if (lane() == Lane::normal) unacknowledged_bytes_ += packet->header().size_bytes;
  return packet;
}

bool MpiLink::acknowledge(std::size_t bytes) {
  if (bytes > unacknowledged_bytes_) return false;
  unacknowledged_bytes_ -= bytes;
  return true;
}

}  // namespace shoal::net
