#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/large_message.hpp>
#include <shoal/message.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "team/control_message.hpp"
#include "team/message_report.hpp"
#include "team/messenger.hpp"
#include "team/multicast_wire.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::team {

// --- packets

namespace {

/// Calls f(arguments) for each message of a run if its handler has `bit`. `offset`: of the first
/// one; then it is behind the run.
template <class F>
void for_messages(const net::Packet& packet, const net::Run& run, std::uint32_t bit,
                  std::size_t& offset, F f) {
  const std::size_t end = offset + run.count * run.step();
  for (; (run.handler & bit) != 0 && offset < end; offset += run.step()) {
    std::span<const std::byte> arguments = packet.messages().subspan(offset, run.size_bytes);
    if ((run.handler & kMulticastBit) != 0) arguments = open_multicast(arguments).arguments;
    f(arguments);
  }
  offset = end;
}

}  // namespace

PacketPart::~PacketPart() {
  if (empty()) return;
  const std::size_t size = packet->messages().size();
  net::Run run;
  while (offset < size && net::read_run(packet->messages(), offset, run)) {
    for_messages(*packet, run, kObjectBit, offset,
                 [](auto arguments) { delete net::object_at(arguments.data()); });
  }
}

void PacketReader::refuse(const net::Packet& packet, const net::Run& run) const {
  fatal_(fmt::format("corrupt packet from rank {}: {} messages of {} bytes end behind it",
                     packet.header().source, std::uint64_t{run.count},
                     std::uint64_t{run.size_bytes}));
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

namespace {

std::uint32_t order_of(std::uint32_t handler) {
  if ((handler & kOwnOrderBit) == 0) return Stream::kShared;
  if ((handler & kInstanceBit) == 0) return Stream::kStatic;
  return Stream::kInstance + (handler & kIndexMask);
}

bool is_multicast(const net::Run& run) {
  return (run.handler & kMulticastBit) != 0 && run.size_bytes >= sizeof(MulticastHeader);
}

Stream stream_at(const net::Packet& packet, const net::Run& run, std::size_t offset) {
  const net::PacketHeader& header = packet.header();
  Stream stream{run.team, header.source, header.lane, order_of(run.handler)};
  if (is_multicast(run)) {
    MulticastHeader multicast;
    std::memcpy(&multicast, packet.messages().data() + offset, sizeof multicast);
    stream.origin = multicast.origin;
    stream.path = multicast.path;
  }
  return stream;
}

/// Number of consecutive messages of a run that are of one stream.
std::uint64_t count_of_stream(const net::Run& run) {
  return is_multicast(run) ? 1U : std::uint64_t{run.count};
}

/// Copies the messages of a run from `offset` on that are of one stream.
net::PacketHolder copy_of(const net::Packet& packet, const net::Run& run, std::size_t offset) {
  const std::uint64_t count = count_of_stream(run);
  const net::RunPrefix* const prefix = (run.handler & net::kPrefixBit) != 0 ? &run.prefix : nullptr;
  const net::MessageHeader message{run.handler, run.signature, run.size_bytes, run.team,
                                   run.sender};
  net::Packet* const copy = net::Packet::create(
      count * run.step() + net::Packet::bytes_at_most({.handler = run.handler}, prefix));
  copy->header() = packet.header();
  copy->header().size_bytes = 0;
  copy->header().message_count = 0;
  if (packet.out_of_band != nullptr) {
    copy->out_of_band = std::make_unique<net::PacketPieces>();
    copy->out_of_band->size_bytes = packet.piece_bytes();  // for reports
  }
  sync::pass_on(&packet, copy);
  for (std::uint64_t i = 0; i < count; ++i, offset += run.step()) {
    const std::span<std::byte> place = copy->add_message(message, prefix);
    if (!place.empty()) {
      std::memcpy(place.data(), packet.messages().data() + offset, place.size());
    }
  }
  return net::PacketHolder(copy);
}

}  // namespace

std::uint64_t PacketReader::unprocessed(const PacketPart& part) const {
  std::uint64_t count = 0;
  net::Run run;
  for (std::size_t at = part.offset; at < part.packet->messages().size();
       at += run.count * run.step()) {
    read_run(*part.packet, at, run);
    count += std::uint64_t{run.count} * ((run.handler & kLargeBit) != 0 ? 2U : 1U);
  }
  return count;
}

Stream PacketReader::stream_of(const PacketPart& part) const {
  std::size_t offset = part.offset;
  net::Run run;
  read_run(*part.packet, offset, run);
  return stream_at(*part.packet, run, offset);
}

std::size_t PacketReader::find_run(const PacketPart& part,
                                   FunctionRef<bool(const Stream&)> is_such) const {
  std::size_t offset = part.offset;
  while (offset < part.packet->messages().size()) {
    const std::size_t begin = offset;
    net::Run run;
    read_run(*part.packet, offset, run);
    const std::uint64_t each = count_of_stream(run);
    for (std::uint64_t i = 0; i < run.count; i += each, offset += each * run.step()) {
      if (is_such(stream_at(*part.packet, run, offset))) return begin;
    }
  }
  return offset;
}

std::vector<PacketPart> PacketReader::take_first(PacketPart& part) const {
  std::vector<PacketPart> parts;
  const net::Packet& packet = *part.packet;
  const Stream first = stream_of(part);
  const auto is_other = [&first](const Stream& stream) { return stream != first; };
  if (find_run(part, is_other) == packet.messages().size()) {
    parts.push_back(std::move(part));
    return parts;
  }
  std::uint32_t number = packet.header().first_message;
  if (number != 0) number += static_cast<std::uint32_t>(count_before(packet, part.offset));
  net::Run run;
  read_run(packet, part.offset, run);
  const std::uint64_t each = count_of_stream(run);
  for (std::uint64_t i = 0; i < run.count; i += each, part.offset += each * run.step()) {
    parts.emplace_back(copy_of(packet, run, part.offset));
    parts.back().packet->header().first_message = number;
    if (number != 0) number += static_cast<std::uint32_t>(each);
  }
  return parts;
}

// --- the table

UnexpectedMessages::~UnexpectedMessages() {
  for (const auto& [stream, entry] : entries_) {
    for (const auto& [number, part] : entry.parts) part.packet->owner = nullptr;
  }
}

bool UnexpectedMessages::has(const Stream& stream) const {
  const sync::Lock lock(mutex_);
  return entries_.contains(stream);
}

bool UnexpectedMessages::are_passed_on(const Stream& stream) const {
  const sync::Lock lock(mutex_);
  const auto found = entries_.find(stream);
  return found != entries_.end() && found->second.passed_on;
}

std::uint64_t UnexpectedMessages::count_of(std::uint64_t team) const {
  if (count() == 0) return 0;
  std::uint64_t sum = 0;
  const sync::Lock lock(mutex_);
  for (const auto& [stream, entry] : entries_) sum += stream.team == team ? entry.count : 0;
  return sum;
}

bool UnexpectedMessages::empty() const {
  const sync::Lock lock(mutex_);
  return entries_.empty();
}

// Messenger::retry_unexpected() looks here after a team has failed, a handler was opened or a team
// was added: either it sees this entry, or can_handle() sees them. Under the lock, so that rests()
// never sees the count without the flag.
void UnexpectedMessages::keep(const Stream& stream, PacketPart part, bool passed_on) {
  part.packet.reset(net::Packet::compact(part.packet.release()));
  net::Run first;
  std::size_t offset = part.offset;
  reader_.read_run(*part.packet, offset, first);
  const bool counts = stream.lane != static_cast<std::uint32_t>(net::Lane::control);
  const std::uint64_t messages = counts ? reader_.unprocessed(part) : 0;
  bool asks = false;
  {
    const sync::Lock lock(mutex_);
    const auto [found, is_first] = entries_.try_emplace(stream);
    Entry& entry = found->second;
    entry.count += messages;
    entry.bytes += part.packet->window_bytes() - part.offset;
    entry.parts.emplace_back(arrival_count_++, std::move(part));
    in_windows_.store(true, std::memory_order_seq_cst);
    if (waiting_senders_ > 0) leave(entry);
    count_.fetch_add(messages, std::memory_order_release);
    lanes_ |= std::uint64_t{1} << stream.lane;
    if (is_first) {
      entry.handler = first.handler & kIndexMask;
      entry.passed_on = passed_on;
      const bool has_team = cores_.find(stream.team) != nullptr;
      const bool may_leave = stream.is_multicast() && !passed_on && has_team;
      if (may_leave || can_handle(first)) request_retry();
      asks = !has_team && !stream.is_about_team();
    }
  }
  if (asks) ask_about(cores_.world(), stream.team, Rank(stream.source));
}

void UnexpectedMessages::leave(Entry& entry) {
  for (; entry.left < entry.parts.size(); ++entry.left) {
    entry.parts[entry.left].second.packet->disown();
  }
}

void UnexpectedMessages::leave_windows() {
  const sync::Lock lock(mutex_);
  in_windows_.store(false, std::memory_order_seq_cst);
  for (auto& [stream, entry] : entries_) leave(entry);
}

void UnexpectedMessages::sender_waits(bool begins) {
  {
    const sync::Lock lock(mutex_);
    waiting_senders_ += begins ? 1 : -1;
  }
  if (begins) leave_windows();
}

// The flag is lowered before any look at the handlers: a handler that is made after that raises it
// again.
std::vector<PacketPart> UnexpectedMessages::take_all() {
  std::vector<std::pair<std::uint64_t, PacketPart>> all;
  {
    const sync::Lock lock(mutex_);
    for (auto& [stream, entry] : entries_) std::ranges::move(entry.parts, std::back_inserter(all));
    entries_.clear();
    count_.store(0, std::memory_order_release);
    lanes_ = 0;
    retry_.store(false, std::memory_order_seq_cst);
  }
  std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
  std::vector<PacketPart> parts;
  parts.reserve(all.size());
  for (auto& one : all) parts.push_back(std::move(one.second));
  return parts;
}

// The message of a team that is made later on comes too late for this: its team fails at once.
std::uint64_t UnexpectedMessages::drop(std::uint64_t team, Rank source) {
  std::vector<Entry> dropped;
  {
    const sync::Lock lock(mutex_);
    if (cores_.find(team) != nullptr) return 0;
    lanes_ = 0;
    for (auto it = entries_.begin(); it != entries_.end();) {
      const auto here = it++;
      if (here->first.team != team || here->first.source != source.value()) {
        lanes_ |= std::uint64_t{1} << here->first.lane;
        continue;
      }
      count_.fetch_sub(here->second.count, std::memory_order_release);
      dropped.push_back(std::move(here->second));
      entries_.erase(here);
    }
  }
  std::uint64_t count = 0;
  for (const Entry& entry : dropped) {
    for (const auto& [number, part] : entry.parts) count += drop(part);
  }
  return count;
}

// Ends the large messages, and acknowledges all. The part owns the arguments.
std::uint64_t UnexpectedMessages::drop(const PacketPart& part) const {
  std::uint64_t count = 0;
  net::Packet& packet = *part.packet;
  const Rank source(packet.header().source);
  for (std::size_t offset = part.offset; offset < packet.messages().size();) {
    net::Run run;
    reader_.read_run(packet, offset, run);
    for_messages(packet, run, kLargeBit, offset, [&](auto arguments) {
      const Message message{&cores_.world(), source, false, true, arguments};
      std::span<const std::byte> rest;
      drop_large(message, split_large(message, rest));
    });
    count += run.count;
    if (run.sender != 0) acknowledge(cores_.world(), source, run.sender, run.count);
  }
  return count;
}

// Returns whether the run can be handled, or dropped.
bool UnexpectedMessages::can_handle(const net::Run& run) const {
  const TeamCore* const core = cores_.find(run.team);
  if (core == nullptr) return false;
  if ((run.handler & kInstanceBit) == 0 || core->failed()) return true;
  return core->handlers().is_open(run.handler & kIndexMask);
}

bool UnexpectedMessages::rests() {
  if (!ask_names()) return false;
  const sync::Lock lock(mutex_);
  return !wants_retry();
}

// --- names of the handlers that messages wait for

namespace {

using Bytes = std::vector<std::byte>;

/// On the rank that has asked.
void on_name(const MessageContext& context, std::uint64_t team, std::uint32_t index,
             std::string name) {
  context.core().messenger().unexpected().name_handler(team, context.world_source(), index,
                                                       std::move(name));
}

/// On the rank that has sent.
void on_question(const MessageContext& context, std::uint64_t team, std::uint32_t index) {
  using Answer = StaticFunction<&on_name, Delivery::inlined>;
  Messenger& messenger = context.core().messenger();
  const TeamCore* const core = messenger.find_core(team);
  const std::string name = core != nullptr ? core->handlers().name_of(index) : "an active message";
  messenger.send_control(Answer::handler, context.world_source(), encoded(team, index, name));
}

/// Its caller holds locks, which no exception may pass: the handler is shoal's own, so it is
/// registered, and a lack of memory ends the process.
void ask_name(Messenger& messenger, Rank sender, std::uint64_t team, std::uint32_t index) noexcept {
  using Question = StaticFunction<&on_question, Delivery::inlined>;
  messenger.send_control(Question::handler, sender, encoded(team, index));
}

}  // namespace

std::optional<UnexpectedMessages::Absent> UnexpectedMessages::absent_handler(
    const Stream& stream, const Entry& entry) const {
  if (stream.is_about_team() || cores_.find(stream.team) == nullptr) return std::nullopt;
  return Absent{stream.team, stream.sender(), entry.handler};
}

bool UnexpectedMessages::ask_names() {
  if (count() == 0) return true;
  std::vector<Absent> unknown;
  bool is_complete = true;
  {
    std::map<Absent, std::string> names;  // of those that wait now
    const sync::Lock lock(mutex_);
    for (const auto& [stream, entry] : entries_) {
      const std::optional<Absent> absent = absent_handler(stream, entry);
      if (!absent || names.contains(*absent)) continue;
      const auto known = names_.find(*absent);
      if (known == names_.end()) unknown.push_back(*absent);
      std::string name = known != names_.end() ? known->second : "";
      is_complete = is_complete && !name.empty();
      names.emplace(*absent, std::move(name));
    }
    names_.swap(names);
  }
  for (const Absent& one : unknown) {
    ask_name(cores_.world().messenger(), one.sender, one.team, one.index);
  }
  return is_complete;
}

void UnexpectedMessages::name_handler(std::uint64_t team, Rank sender, std::uint32_t index,
                                      std::string name) {
  const sync::Lock lock(mutex_);
  const auto asked = names_.find({team, sender, index});
  if (asked != names_.end()) asked->second = std::move(name);
}

std::string UnexpectedMessages::text_of(const PacketPart& part) const {
  net::Run run;
  std::size_t offset = part.offset;
  reader_.read_run(*part.packet, offset, run);
  return message_text(cores_.world().messenger(), *part.packet, run, offset);
}

std::vector<std::string> UnexpectedMessages::describe(std::uint64_t team) const {
  struct Waiting {
    std::uint64_t bytes = 0;
    const std::pair<std::uint64_t, PacketPart>* first = nullptr;  // where the team is missing
  };
  std::map<std::string, Waiting> all;  // by line
  const sync::Lock lock(mutex_);
  for (const auto& [stream, entry] : entries_) {
    const std::optional<Absent> absent = absent_handler(stream, entry);
    if (entry.count == 0 || (absent ? stream.team != team : team != 0)) continue;
    std::string line;
    if (absent) {
      const auto known = names_.find(*absent);
      const bool is_named = known != names_.end() && !known->second.empty();
      line = fmt::format("messages from rank {} are for {}, which was never made here",
                         absent->sender.value(), is_named ? known->second : "an active message");
    } else {
      line = fmt::format(
          "messages from rank {} are for a team that was never made here: all members make their "
          "teams in the same order, with the same names, and with the same ranks in one order (or "
          "it has ended: keep its objects until all invocations have run)",
          stream.sender().value());
    }
    Waiting& waiting = all[std::move(line)];
    waiting.bytes += entry.bytes;
    const auto& first = entry.parts.front();
    if (!absent && (waiting.first == nullptr || first.first < waiting.first->first))
      waiting.first = &first;
  }
  std::vector<std::string> lines;
  lines.reserve(all.size());
  for (const auto& [line, waiting] : all) {
    const std::string first =
        waiting.first == nullptr
            ? ""
            : fmt::format("; the first is for {}", text_of(waiting.first->second));
    lines.push_back(fmt::format("{}{} ({} bytes wait)", line, first, waiting.bytes));
  }
  return lines;
}

}  // namespace shoal::team
