#include <shoal/detail/team/handler.hpp>

namespace shoal::team {

void Batch::compact() {
  net::Packet*& packet = *packet_;
  const std::ptrdiff_t offset = at_ - packet->body();
  packet = net::Packet::compact(packet);
  at_ = packet->body() + offset;
}

MessageRun MessageRun::rest(std::uint64_t index) const {
  packet->add_reference();
  return {net::PacketHolder(packet.get()), first + index * step, size_bytes, step, count - index};
}

MessageRun Batch::keep() {
  if (has_changed()) return {};
  compact();
  net::Packet* const packet = *packet_;
  packet->add_reference();
  MessageRun run{net::PacketHolder(packet), at_, size_, step_, left_};
  watch_->mark.begin_each(left_);
  left_ = 0;
  return run;
}

}  // namespace shoal::team
