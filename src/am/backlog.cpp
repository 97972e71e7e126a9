#include <shoal/am/backlog.hpp>

#include <shoal/am/large_message.hpp>

#include "am/multicast_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::messaging {

void Backlog::hold(PacketPart part, bool passed_on) {
  part.packet.reset(net::Packet::compact(part.packet.release()));
  net::Run first;  // that is held
  std::size_t first_message = part.offset;
  reader_.read_run(*part.packet, first_message, first);
  // Messenger::drop_held() looks here after a scope was marked as failed: one of the two sees the
  // other. ChannelHost::retry_if_early() looks at the count after a handler was opened or a channel
  // added, under their locks: either it sees this count and retries, or can_handle() sees them.
  // Under the lock of early_: rests() never sees the count without the flag.
  const Stream stream = reader_.stream_of(part);
  const std::uint64_t messages = reader_.unprocessed(part);
  const bool is_first = early_.add(stream, std::move(part), messages, passed_on, [&] {
    const bool may_leave = stream.origin != Stream::kDirect && !passed_on;
    if (can_handle(first) || (may_leave && channels_.find(stream.team) != nullptr)) {
      request_retry();
    }
  });
  if (is_first && channels_.find(stream.team) == nullptr) {
    listener_->on_unknown_team(stream.team, Rank(stream.source));
  }
}

// Lowered before any look at the handlers: one that is made after that raises it again.
PacketParts Backlog::take_all() {
  return early_.take_all([this] { retry_.store(false, std::memory_order_seq_cst); });
}

// The message of a team that is made later on comes too late for this: its scope fails at once.
std::uint64_t Backlog::drop_early(std::uint64_t team, Rank source) {
  std::uint64_t count = 0;
  for (const PacketPart& part : early_.take(
           team, source.value(), [this, team] { return channels_.find(team) != nullptr; })) {
    count += drop(part);
  }
  return count;
}

// Frees the buffers of the messages.
std::uint64_t Backlog::drop(const PacketPart& part) {
  std::uint64_t count = 0;
  net::Packet& packet = *part.packet;
  for (std::size_t offset = part.offset; offset < packet.messages().size();) {
    net::Run run;
    reader_.read_run(packet, offset, run);
    for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) {
      Message message{&channels_.world(), Rank(packet.header().source), false, true,
                      packet.messages().subspan(offset, run.size_bytes)};
      if ((run.handler & kMulticastBit) != 0) {
        message.arguments = open_multicast(message.arguments).arguments;
      }
      if ((run.handler & kObjectBit) != 0) delete object_of(message);
      if ((run.handler & kLargeBit) != 0) {
        std::span<const std::byte> rest;
        drop_large(message, split_large(message, rest));
      }
    }
    count += run.count;
    if (run.sender != 0) {
      listener_->acknowledge(Rank(packet.header().source), run.sender, run.count);
    }
  }
  return count;
}

// Or drop.
bool Backlog::can_handle(const net::Run& run) const {
  const Channel* const channel = channels_.find(run.team);
  if (channel == nullptr) return false;
  if ((run.handler & kInstanceBit) == 0 || channel->scope().failed()) return true;
  return channel->handlers().is_open(run.handler & kIndexMask);
}

bool Backlog::rests() {
  return early_.disown_all([this] { return wants_retry(); });
}

std::vector<std::string> Backlog::describe(std::uint64_t team) const {
  std::vector<std::string> lines;
  early_.for_each([&](const Stream& stream) {
    const bool exists = channels_.find(stream.team) != nullptr;
    if (exists ? stream.team != team : team != 0) return;
    const bool is_direct = stream.origin == Stream::kDirect;
    std::string line = fmt::format(
        "messages from rank {} are for {}", is_direct ? stream.source : stream.origin,
        exists ? "an active message that was never made here"
               : "a team that was never made here: all members make their teams in the same order "
                 "and with the same names");
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  });
  return lines;
}

}  // namespace shoal::messaging
