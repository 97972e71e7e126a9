#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/large_message.hpp>
#include <shoal/message.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "team/control_message.hpp"
#include "team/messenger.hpp"
#include "team/multicast_wire.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::messaging {

void PacketReader::refuse(const net::Packet& packet, const net::Run& run) const {
  fatal_(fmt::format("corrupt packet from rank {}: {} messages of {} bytes end behind it",
                     packet.header().source, std::uint64_t{run.count},
                     std::uint64_t{run.size_bytes}));
}

template <class F>
void PacketReader::for_each_message(const PacketPart& part, F f) const {
  std::size_t offset = part.offset;
  while (offset < part.packet->messages().size()) {
    net::Run run;
    read_run(*part.packet, offset, run);
    for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) f(run, offset);
  }
}

std::uint64_t PacketReader::count_before(const net::Packet& packet, std::size_t offset) const {
  std::uint64_t count = 0;
  net::Run run;
  for (std::size_t at = 0; at < offset; at += run.count * run.step()) {
    read_run(packet, at, run);
    count += run.count;
  }
  return count;
}

std::uint64_t PacketReader::unprocessed(const PacketPart& part) const {
  std::uint64_t count = 0;
  for_each_message(part, [&count](const net::Run& run, std::size_t /*offset*/) {
    count += (run.handler & kLargeBit) != 0 ? 2 : 1;
  });
  return count;
}

namespace {

std::uint32_t order_of(std::uint32_t handler) {
  if ((handler & kOwnOrderBit) == 0) return Stream::kShared;
  if ((handler & kInstanceBit) == 0) return Stream::kStatic;
  return Stream::kInstance + (handler & kIndexMask);
}

Stream stream_at(const net::Packet& packet, const net::Run& run, std::size_t offset) {
  const net::PacketHeader& header = packet.header();
  Stream stream{run.team, header.source, header.lane, order_of(run.handler)};
  if ((run.handler & kMulticastBit) != 0 && run.size_bytes >= sizeof(MulticastHeader)) {
    MulticastHeader multicast;
    std::memcpy(&multicast, packet.messages().data() + offset, sizeof multicast);
    stream.origin = multicast.origin;
    stream.path = multicast.path;
  }
  return stream;
}

const net::RunPrefix* prefix_of(const net::Run& run) {
  return (run.handler & net::kPrefixBit) != 0 ? &run.prefix : nullptr;
}

void append_copy(net::Packet& to, const net::Packet& packet, const net::Run& run,
                 std::size_t offset) {
  const std::span<std::byte> place = to.add_message(
      {run.handler, run.signature, run.size_bytes, run.team, run.sender}, prefix_of(run));
  if (!place.empty()) {
    std::memcpy(place.data(), packet.messages().data() + offset, place.size());
  }
}

}  // namespace

Stream PacketReader::stream_of(const PacketPart& part) const {
  std::size_t offset = part.offset;
  net::Run run;
  read_run(*part.packet, offset, run);
  return stream_at(*part.packet, run, offset);
}

std::vector<PacketReader::Stretch> PacketReader::stretches_of(
    const PacketPart& part, FunctionRef<bool(const Stream&)> waits) const {
  std::vector<Stretch> stretches;
  Stream last;
  bool last_waits = false;
  for_each_message(part, [&](const net::Run& run, std::size_t offset) {
    const Stream stream = stream_at(*part.packet, run, offset);
    const bool is_first = stretches.empty();
    const bool same = !is_first && stream == last;
    const bool waited = std::exchange(last_waits, same ? last_waits : waits(stream));
    if (is_first || waited != last_waits || (last_waits && !same)) {
      stretches.push_back({.begin = offset, .end = offset});
    }
    last = stream;
    ++stretches.back().count;
    stretches.back().end = offset + run.step();
  });
  return stretches;
}

PacketParts PacketReader::split(PacketPart part, FunctionRef<bool(const Stream&)> waits) const {
  PacketParts parts;
  const std::vector<Stretch> stretches = stretches_of(part, waits);
  if (stretches.size() <= 1) {
    parts.push_back(std::move(part));
    return parts;
  }
  net::PacketHeader header = part.packet->header();
  if (header.first_message != 0) {
    header.first_message += static_cast<std::uint32_t>(count_before(*part.packet, part.offset));
  }
  header.size_bytes = 0;
  header.message_count = 0;
  auto stretch = stretches.begin();
  for_each_message(part, [&](const net::Run& run, std::size_t offset) {
    if (offset == stretch->begin) {
      const std::size_t header_bytes =
          net::Packet::bytes_at_most({.handler = run.handler}, prefix_of(run));
      net::Packet* const copy = net::Packet::create(stretch->end - offset + header_bytes);
      copy->header() = header;
      sync::pass_on(part.packet.get(), copy);
      parts.push_back({net::PacketHolder(copy)});
      if (header.first_message != 0) {
        header.first_message += static_cast<std::uint32_t>(stretch->count);
      }
    }
    append_copy(*parts.back().packet, *part.packet, run, offset);
    if (offset + run.step() == stretch->end) ++stretch;
  });
  return parts;
}

void Early::disown_all() {
  for (; disowned < packets.size(); ++disowned) packets[disowned].part.packet->disown();
}

std::uint64_t EarlyMessages::count_of(std::uint64_t team) const {
  if (count() == 0) return 0;
  std::uint64_t sum = 0;
  const sync::Lock lock(mutex_);
  for (const auto& [stream, early] : streams_) sum += stream.team == team ? early.count : 0;
  return sum;
}

bool EarlyMessages::empty() const {
  const sync::Lock lock(mutex_);
  return streams_.empty();
}

bool EarlyMessages::has(const Stream& stream) const {
  const sync::Lock lock(mutex_);
  return streams_.contains(stream);
}

bool EarlyMessages::are_passed_on(const Stream& stream) const {
  const sync::Lock lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.passed_on;
}

bool EarlyMessages::add(const Stream& stream, PacketPart part, std::uint64_t messages,
                        bool passed_on, FunctionRef<void()> then) {
  const sync::Lock lock(mutex_);
  const auto [found, is_first] = streams_.try_emplace(stream);
  Early& early = found->second;
  if (is_first) early.passed_on = passed_on;
  early.count += messages;
  early.packets.push_back({std::move(part), numbers_++});
  if (open_windows_ > 0) early.disown_all();
  count_.fetch_add(messages, std::memory_order_release);
  if (is_first) then();
  return is_first;
}

PacketParts EarlyMessages::take(std::uint64_t team, std::int32_t source,
                                FunctionRef<bool()> unless) {
  PacketParts taken;
  const sync::Lock lock(mutex_);
  if (unless()) return taken;
  for (auto it = streams_.begin(); it != streams_.end();) {
    const auto here = it++;
    if (here->first.team != team || here->first.source != source) continue;
    count_.fetch_sub(here->second.count, std::memory_order_release);
    for (Early::Kept& one : here->second.packets) taken.push_back(std::move(one.part));
    streams_.erase(here);
  }
  return taken;
}

PacketParts EarlyMessages::take_all(FunctionRef<void()> then) {
  std::vector<Early::Kept> all;
  {
    const sync::Lock lock(mutex_);
    for (auto& [stream, early] : streams_)
      std::ranges::move(early.packets, std::back_inserter(all));
    streams_.clear();
    count_.store(0, std::memory_order_release);
    then();
  }
  std::ranges::sort(all, {}, &Early::Kept::number);
  PacketParts parts;
  for (Early::Kept& one : all) parts.push_back(std::move(one.part));
  return parts;
}

EarlyMessages::~EarlyMessages() {
  for (auto& [stream, early] : streams_) {
    for (const Early::Kept& one : early.packets) one.part.packet->owner = nullptr;
  }
}

void EarlyMessages::open_windows(int change) {
  const sync::Lock lock(mutex_);
  open_windows_ += change;
  if (change <= 0) return;
  for (auto& [stream, early] : streams_) early.disown_all();
}

bool EarlyMessages::disown_all(FunctionRef<bool()> unless) {
  const sync::Lock lock(mutex_);
  if (unless()) return false;
  for (auto& [stream, early] : streams_) early.disown_all();
  return true;
}

void EarlyMessages::for_each(
    FunctionRef<void(const Stream&, const PacketPart& first)> visit) const {
  const sync::Lock lock(mutex_);
  for (const auto& [stream, early] : streams_) visit(stream, early.packets.front().part);
}

void Backlog::hold(PacketPart part, bool passed_on) {
  part.packet.reset(net::Packet::compact(part.packet.release()));
  net::Run first;  // that is held
  std::size_t first_message = part.offset;
  reader_.read_run(*part.packet, first_message, first);
  // Messenger::drop_held() looks here after a scope was marked as failed: one of the two sees the
  // other. Messenger::retry_if_early() looks at the count after a handler was opened or a channel
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
    term::ask_about(channels_.world(), stream.team, Rank(stream.source));
  }
}

// The flag is lowered before any look at the handlers: a handler that is made after that raises it
// again.
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
      term::acknowledge(channels_.world(), Rank(packet.header().source), run.sender, run.count);
    }
  }
  return count;
}

// Returns whether the run can be handled, or dropped.
bool Backlog::can_handle(const net::Run& run) const {
  const Channel* const channel = channels_.find(run.team);
  if (channel == nullptr) return false;
  if ((run.handler & kInstanceBit) == 0 || channel->failed()) return true;
  return channel->handlers().is_open(run.handler & kIndexMask);
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
          "teams in the same order, with the same names, and with the same ranks in one order (or "
          "it has ended: keep its objects until all invocations have run)",
          stream.origin == Stream::kDirect ? stream.source : stream.origin);
    }
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  });
  return lines;
}

}  // namespace shoal::messaging
