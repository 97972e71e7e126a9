#include "net/mpi/mpi_link.hpp"

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

void MpiLink::Announcement::start() { outbox_.announced(link_); }

}  // namespace shoal::net
