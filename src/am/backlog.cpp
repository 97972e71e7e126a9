#include "am/backlog.hpp"

#include <shoal/large_message.hpp>
#include <shoal/message.hpp>

#include "am/messenger.hpp"
#include "am/multicast_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

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

void Backlog::sender_waits(bool begins) {
  early_.open_windows(begins ? 1 : -1);
  WaitingSenderListener* const listener = sender_listener_.load(std::memory_order_acquire);
  if (listener != nullptr) listener->sender_waits(begins);
}

bool Backlog::rests() {
  return ask_names() && early_.disown_all([this] { return wants_retry(); });
}

// --- names of the handlers that messages wait for

namespace {

using Bytes = std::vector<std::byte>;

/// On the rank that has asked.
void on_name(const MessageContext& context, std::uint64_t team, std::uint32_t index,
             std::string name) {
  context.channel().messenger().backlog().name_handler(team, context.world_source(), index,
                                                       std::move(name));
}

/// On the rank that has sent.
void on_question(const MessageContext& context, std::uint64_t team, std::uint32_t index) {
  using Answer = StaticFunction<&on_name, Delivery::inlined>;
  Messenger& messenger = context.channel().messenger();
  const Channel* const channel = messenger.find_channel(team);
  const std::string name =
      channel != nullptr ? channel->handlers().name_of(index) : "an active message";
  messenger.send_control(Answer::handler, context.world_source(), encoded(team, index, name));
}

/// Its caller holds locks, which no exception may pass: the handler is shoal's own, so it is
/// registered, and a lack of memory ends the process.
void ask(Messenger& messenger, Rank sender, std::uint64_t team, std::uint32_t index) noexcept {
  using Question = StaticFunction<&on_question, Delivery::inlined>;
  messenger.send_control(Question::handler, sender, encoded(team, index));
}

}  // namespace

std::optional<Backlog::Absent> Backlog::absent_handler(const Stream& stream,
                                                       const PacketPart& first) const {
  if (channels_.find(stream.team) == nullptr) return std::nullopt;
  net::Run run;
  std::size_t offset = first.offset;
  reader_.read_run(*first.packet, offset, run);
  return Absent{stream.team, stream.origin == Stream::kDirect ? stream.source : stream.origin,
                run.handler & kIndexMask};
}

bool Backlog::ask_names() {
  if (early_.count() == 0) return true;
  std::vector<Absent> unknown;
  bool is_complete = true;
  {
    std::map<Absent, std::string> names;  // of those that wait now
    const sync::Lock lock(names_mutex_);
    early_.for_each([&](const Stream& stream, const PacketPart& first) SHOAL_UNCHECKED_LOCKING {
      const std::optional<Absent> absent = absent_handler(stream, first);
      if (!absent || names.contains(*absent)) return;
      const auto known = names_.find(*absent);
      if (known == names_.end()) unknown.push_back(*absent);
      std::string name = known != names_.end() ? known->second : "";
      is_complete = is_complete && !name.empty();
      names.emplace(*absent, std::move(name));
    });
    names_.swap(names);
  }
  for (const Absent& one : unknown) {
    ask(channels_.world().messenger(), Rank(one.sender), one.team, one.index);
  }
  return is_complete;
}

void Backlog::name_handler(std::uint64_t team, Rank sender, std::uint32_t index, std::string name) {
  const sync::Lock lock(names_mutex_);
  const auto asked = names_.find({team, sender.value(), index});
  if (asked != names_.end()) asked->second = std::move(name);
}

std::vector<std::string> Backlog::describe(std::uint64_t team) const {
  std::vector<std::string> lines;
  const sync::Lock lock(names_mutex_);
  early_.for_each([&](const Stream& stream, const PacketPart& first) SHOAL_UNCHECKED_LOCKING {
    const std::optional<Absent> absent = absent_handler(stream, first);
    if (absent ? stream.team != team : team != 0) return;
    std::string line;
    if (absent) {
      const auto known = names_.find(*absent);
      const bool is_named = known != names_.end() && !known->second.empty();
      line = fmt::format("messages from rank {} are for {}, which was never made here",
                         absent->sender, is_named ? known->second : "an active message");
    } else {
      line = fmt::format(
          "messages from rank {} are for a team that was never made here: all members make their "
          "teams in the same order and with the same names",
          stream.origin == Stream::kDirect ? stream.source : stream.origin);
    }
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  });
  return lines;
}

}  // namespace shoal::messaging
