#include "team/receiver.hpp"

#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/trace/probes.hpp>
#include <shoal/error.hpp>
#include <shoal/large_message.hpp>
#include <shoal/message.hpp>

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "team/control_message.hpp"
#include "team/multicast_wire.hpp"

namespace shoal::team {

namespace {

[[gnu::noinline]] void note_sender(Reception& reception) {
  auto& outside = reception.outside;
  if (outside.empty() || outside.back().first != reception.run.sender) {
    outside.emplace_back(reception.run.sender, 0);
  }
  outside.back().second += reception.run.count;
}

[[gnu::noinline]] void fail(const Reception& reception) {
  reception.core->fail(reception.handler->name, sched::caught_exception());
}

// --- messages that meet another handler than the one that their sender made

/// On the rank that has sent the message. `there`: the handler that it met.
void name_both(const MessageContext& context, std::uint32_t index, const std::string& there) {
  TeamCore& core = context.core();
  const std::string text = fmt::format(
      "a message of rank {} met another handler on rank {}: number {} of the team is {} on rank "
      "{}, and {} on rank {}; all ranks of a team make their active messages, task graphs, flows, "
      "events and memories in the same order, at the same places in the source and with the same "
      "names",
      core.messenger().rank().value(), context.world_source().value(), index,
      core.handlers().describe(index), core.messenger().rank().value(), there,
      context.world_source().value());
  core.fail("a message", std::make_exception_ptr(CheckError(text)));
}

/// Fails the team because a message from a member was sent for its handler `index`, and that of
/// this rank has another signature. The text names both handlers: the sender knows its own, and a
/// message asks it. **Caller**: the progress context.
void report_mismatch(TeamCore& core, Rank sender, std::uint32_t index) {
  using Question = StaticFunction<&name_both, Delivery::inlined>;
  const std::string here = core.handlers().describe(index);
  const std::vector<std::byte> bytes = encoded(index, here);
  const Route route{Question::handler.index() | core.flag_bits() | kOwnOrderBit,
                    Question::handler.signature(), sender};
  net::Link& link = core.messenger().link_to(core.to_world(sender), net::Lane::normal);
  core.append_bytes(link, core.header_of(route, bytes.size()), bytes);
}

// The handler does not exist, or is another one than the sender's.
[[gnu::noinline]] void refuse(Reception& reception) {
  Message message = reception.batch.take();
  const net::Run& header = reception.run;
  const Handler* const handler = reception.handler;
  OpenedMulticast opened;
  if ((header.handler & kMulticastBit) != 0) {
    opened = open_multicast(message.arguments);
    opened.parent = message.source;
    message.multicast = &opened;
    message.arguments = opened.arguments;
    message.source = Rank(opened.header.origin);
  }
  if (message.is_object) delete object_of(message);
  if ((header.handler & kLargeBit) != 0) {
    std::span<const std::byte> rest;
    drop_payload(message, split_large(message, rest));
  }
  if (message.dropped) return;
  if (handler != nullptr) {
    const Rank sender = message.core->from_world(message.source);
    return report_mismatch(*message.core, sender, header.handler & kIndexMask);
  }
  const std::string text = fmt::format(
      "a message from rank {} is for {}: keep it until wait() has returned", message.source.value(),
      message.core->handlers().name_of(header.handler & kIndexMask));
  message.core->fail("a message", std::make_exception_ptr(CheckError(text)));
}

// Forwards multicasts before their handlers run, or wait until they are open, so that the ranks
// below do not wait for this one.
[[gnu::noinline]] void forward(TeamCore& core, net::Packet& packet, const net::Run& run,
                               std::size_t offset) {
  try {
    forward_multicasts(core, static_cast<net::Lane>(packet.header().lane), run,
                       packet.body() + offset);
  } catch (...) {
    core.fail("a multicast", std::current_exception());
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): the other parts of the rank
Receiver::Receiver(Rank rank, const void* token, sched::Scheduler& scheduler,
                   const CoreTable& cores, const PacketReader& reader,
                   UnexpectedMessages& unexpected, ArrivalCounts& arrivals)
    : rank_(rank),
      scheduler_(scheduler),
      cores_(cores),
      reader_(reader),
      unexpected_(unexpected),
      arrivals_(arrivals),
      statics_(static_handlers()),
      strand_(rank, token) {}

// --- packets

void Receiver::on_packet(net::Packet* packet) {
  if (trace::on<trace::Category::message>()) [[unlikely]]
    note_received(*packet);
  take_in_order(packet);
}

// Records each message on its own, as senders number them in the order of their link.
[[gnu::noinline]] void Receiver::note_received(const net::Packet& packet) const {
  const net::PacketHeader& header = packet.header();
  const auto lane = static_cast<net::Lane>(header.lane);
  if (lane == net::Lane::control) return;
  std::uint64_t id = net::trace_id(Rank(header.source), rank_, lane, header.first_message);
  net::Run run;
  for (std::size_t offset = 0; offset < packet.messages().size();) {
    reader_.read_run(packet, offset, run);
    for (std::uint64_t i = 0; i < run.count; ++i) {
      trace::message_received(id++, static_cast<std::uint32_t>(header.source), run.size_bytes);
    }
    offset += run.count * run.step();
  }
}

void Receiver::take_in_order(net::Packet* packet) {
  std::size_t offset = 0;
  if (!unexpected_.any(*packet)) [[likely]] {
    if (process(packet, offset, packet->messages().size())) [[likely]]
      return packet->release();
  } else if (unexpected_.wants_retry()) {
    retry_unexpected();  // earlier ones first
  }
  take_or_keep(PacketPart(net::PacketHolder(packet), offset));
}

void Receiver::retry_unexpected() {
  for (PacketPart& part : unexpected_.take_all()) take_or_keep_stream(std::move(part));
}

// Handles the messages that can be handled, in their order. Each of the others waits, and holds
// back the messages after it in its stream.
[[gnu::noinline]] void Receiver::take_or_keep(PacketPart part) {
  while (!part.empty()) {
    const std::size_t end =
        reader_.find_run(part, [this](const Stream& stream) { return unexpected_.has(stream); });
    if (part.offset < end && process(part, end)) continue;
    for (PacketPart& first : reader_.take_first(part)) take_or_keep_stream(std::move(first));
  }
}

// When multicasts of a stream wait, either all of them are forwarded as they arrive, or none, so
// that they keep their order on the ranks below.
void Receiver::take_or_keep_stream(PacketPart part) {
  const Stream stream = reader_.stream_of(part);
  const bool waits = unexpected_.has(stream);
  if (!waits && process(part, part.packet->messages().size())) return;
  const bool passed_on = (!waits || unexpected_.are_passed_on(stream)) && forward_all(stream, part);
  unexpected_.keep(stream, std::move(part), passed_on);
}

// Forwards the messages of one stream; returns false if its team does not exist on this rank yet,
// or they are no multicasts.
bool Receiver::forward_all(const Stream& stream, const PacketPart& part) const {
  TeamCore* const core = stream.is_multicast() ? cores_.find(stream.team) : nullptr;
  if (core == nullptr) return false;
  net::Run run;
  for (std::size_t offset = part.offset; offset < part.packet->messages().size();) {
    reader_.read_run(*part.packet, offset, run);
    forward(*core, *part.packet, run, offset);
    offset += run.count * run.step();
  }
  return true;
}

bool Receiver::process(PacketPart& part, std::size_t end) {
  net::Packet* packet = part.packet.release();
  const bool taken = process(packet, part.offset, end);
  part.packet.reset(packet);
  return taken;
}

// Handles the messages of a packet from `offset` to `end`; returns false if they are held back at
// the new `offset`. The packet may be replaced by a smaller copy. Messages are counted when all are
// processed and the handlers that were kept for them are destroyed, so that the captures of a
// handler which was removed meanwhile are destroyed before wait() can return.
bool Receiver::process(net::Packet*& packet, std::size_t& offset, std::size_t end) {
  Reception reception(cores_.world(), handlers_.removed().count(), packet);
  const int slot = scheduler_.count_slot();
  bool taken = true;
  if (reception.mark.is_watched()) [[unlikely]]
    number(reception, offset);
  {
    const DeferredReclaim::Handling handling(handlers_.removed());
    if (handlers_.removed().has_news()) handlers_.forget_removed();
    while (taken && offset < end) {
      const std::size_t begin = offset;
      reader_.read_run(*packet, offset, reception.run);
      taken = process_run(reception, offset);
      if (!taken) offset = begin;
    }
  }
  if (handlers_.removed().has_news()) handlers_.forget_removed();
  count(reception, slot);
  return taken;
}

[[gnu::noinline]] void Receiver::number(Reception& reception, std::size_t offset) const {
  const net::Packet& packet = *reception.packet;
  const net::PacketHeader& header = packet.header();
  reception.first_id = net::trace_id(Rank(header.source), rank_,
                                     static_cast<net::Lane>(header.lane), header.first_message);
  reception.skipped += reader_.count_before(packet, offset);
}

inline void Receiver::count(const Reception& reception, int slot) {
  std::uint64_t count = reception.count;
  for (const Reception::Tally& other : reception.others) count += other.count;
  processed_ += count;
  if (reception.control) return;
  if (!reception.outside.empty()) [[unlikely]]
    acknowledge(reception);
  arrivals_.add(reception.packet->header().source, count);
  for (const Reception::Tally& other : reception.others) {
    other.core->counts.messages_processed(slot, other.count);
  }
  reception.core->counts.messages_processed(slot, reception.count);
}

// Acknowledgements are messages of the world. They are counted before the messages that they
// acknowledge are processed, so that the world is not complete as long as a team waits.
[[gnu::noinline]] void Receiver::acknowledge(const Reception& reception) {
  const Rank source(reception.packet->header().source);
  for (const auto& [team, count] : reception.outside) {
    team::acknowledge(cores_.world(), source, team, count);
  }
}

// Handles a run; returns false if all of it is held back. It is never held back in part, as
// handlers stay open.
bool Receiver::process_run(Reception& reception, std::size_t& offset) {
  const net::Run& run = reception.run;
  if (run.team != reception.core->id() && !change_core(reception)) [[unlikely]]
    return take_late(reception, offset);
  if ((run.handler & kMulticastBit) != 0) [[unlikely]]
    forward(*reception.core, *reception.packet, run, offset);
  Batch& batch = reception.batch;
  batch.start(run, reception.packet->body() + offset);
  while (batch.left() > 0) {
    if (!dispatch(reception)) return false;
  }
  offset += run.count * run.step();
  reception.count += run.count;
  if (run.sender != 0) [[unlikely]]
    note_sender(reception);
  return true;
}

// Changes to the core of the run; returns false if its team does not exist on this rank yet.
[[gnu::noinline]] bool Receiver::change_core(Reception& reception) {
  TeamCore* const core = cores_.find(reception.run.team);
  if (core == nullptr) return false;
  if (core != reception.core) set_core(reception, *core);
  return true;
}

void Receiver::set_core(Reception& reception, TeamCore& core) {
  if (reception.count > 0) reception.others.push_back({reception.core, reception.count});
  reception.count = 0;
  reception.core = &core;
  reception.batch.message().core = &core;
  reception.watch.scope = &core;
  reception.mark.set_scope(core);
  reception.handler = nullptr;
}

// Handles a run for a team that has ended here; returns false if it has not, or its handler has no
// part for that. Its messages count in the team around: that has the counts of the sender's share
// as well, once that has ended.
[[gnu::noinline]] bool Receiver::take_late(Reception& reception, std::size_t& offset) {
  const net::Run& run = reception.run;
  constexpr std::uint32_t kOther = kInstanceBit | kMulticastBit | kLargeBit;
  const std::uint32_t index = run.handler & kIndexMask;
  if ((run.handler & kOther) != 0 || index >= statics_.size()) return false;
  const Handler& handler = statics_[index];
  if (handler.late == nullptr || handler.signature != run.signature) return false;
  TeamCore* const around = cores_.around_ended(run.team);
  if (around == nullptr) return false;
  set_core(reception, *around);
  Message message{
      around, Rank(reception.packet->header().source), (run.handler & kObjectBit) != 0, false, {}};
  message.prefix = &run.prefix;
  for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) {
    message.arguments = {reception.packet->body() + offset, run.size_bytes};
    try {
      handler.late(message);
    } catch (...) {
      around->fail(handler.name, std::current_exception());
    }
  }
  reception.count += run.count;
  if (run.sender != 0) note_sender(reception);
  return true;
}

// --- handlers

// Finds the handler of the current message, or none if it was removed; returns false if it is not
// open yet.
[[gnu::noinline]] bool Receiver::find(Reception& reception) {
  const std::uint32_t handler = reception.run.handler;
  reception.handler_id = handler;
  reception.handler = nullptr;
  if (!reception.control) arrivals_.note_handler(reception.packet->header().source, handler);
  if ((handler & kInstanceBit) != 0) return handlers_.find(reception);
  const std::uint32_t index = handler & kIndexMask;
  if (index < statics_.size()) reception.handler = &statics_[index];
  return true;
}

// Handles some messages of the batch; returns false if it is held back. Flat, as this is the cost
// of a single message.
[[gnu::flatten]] bool Receiver::dispatch(Reception& reception) {
  const net::Run& header = reception.run;
  Message& message = reception.batch.message();
  // A handler that was removed meanwhile is not found any more.
  const bool failed = reception.batch.look();
  if (reception.handler == nullptr || header.handler != reception.handler_id ||
      handlers_.removed().has_news()) {
    if (handlers_.removed().has_news()) handlers_.forget_removed();
    if (!find(reception) && !failed) return false;
  }
  const Handler* const handler = reception.handler;
  message.is_object = (header.handler & kObjectBit) != 0;
  message.dropped = failed && !reception.control;
  if (handler == nullptr || handler->signature != header.signature) [[unlikely]] {
    refuse(reception);
  } else if ((header.handler & kMulticastBit) != 0) [[unlikely]] {
    deliver_multicast(reception);
  } else if (handler->delivery == Delivery::task && !reception.control && !failed) {
    submit_task(reception);
  } else {
    run_inline(reception);
  }
  return true;
}

// --- multicasts

// The handler gets only the arguments; of shared ones it gets a copy of its own.
[[gnu::noinline]] void Receiver::deliver_multicast(Reception& reception) {
  const Handler& handler = *reception.handler;
  const bool as_task = handler.delivery == Delivery::task && !reception.batch.message().dropped;
  reception.begin_handlers();
  if (as_task) reception.batch.compact();
  Message message = reception.batch.take();
  OpenedMulticast opened;
  try {
    opened = open_multicast(message.arguments);
    opened.route = {reception.run.handler & ~kMulticastBit, reception.run.signature};
    opened.parent = message.source;
    message.source = Rank(opened.header.origin);
    message.arguments = opened.arguments;
    if (message.is_object) message.is_object = own_copy(message);
    if (as_task) {
      make_task(reception, message);
      return reception.mark.hide();
    }
  } catch (...) {
    reception.mark.hide();
    return fail(reception);
  }
  reception.mark.begin();
  try {
    message.multicast = &opened;
    Batch one(message);
    strand_.run(reception.packet, *reception.core,
                [found = &handler, batch = &one] { found->invoke(found->self, *batch); });
  } catch (...) {
    fail(reception);
  }
  reception.mark.hide();
}

// --- tasks

[[gnu::noinline]] void Receiver::submit_task(Reception& reception) {
  const bool is_watched = reception.mark.is_watched();
  if (is_watched) [[unlikely]] {  // a handler that makes a task
    reception.begin_handlers();
    reception.mark.begin_without_count();
  }
  reception.batch.compact();
  make_task(reception, reception.batch.take());
  if (is_watched) [[unlikely]]
    reception.mark.hide();
}

void Receiver::make_task(const Reception& reception, const Message& message) {
  std::shared_ptr<const Handler> instance;
  if ((reception.handler_id & kInstanceBit) != 0) instance = reception.handler->shared_from_this();
  scheduler_.submit(std::make_unique<MessageTask>(std::move(instance), *reception.handler,
                                                  reception.packet, message));
}

void Receiver::run_inline(Reception& reception) {
  const Handler& handler = *reception.handler;
  reception.begin_handlers();
  try {
    strand_.run(reception.packet, *reception.core, [found = &handler, batch = &reception.batch] {
      found->invoke(found->self, *batch);
    });
  } catch (...) {
    fail(reception);
  }
  reception.mark.hide();
}

bool HandlerCache::find(Reception& reception) {
  const std::uint32_t index = reception.handler_id & kIndexMask;
  CachedHandler& one = cached_[index % cached_.size()];
  if (one.handler == nullptr || one.index != index || one.core != reception.core) {
    const Handler* handler = nullptr;
    if (!reception.core->handlers().find(index, handler)) return false;
    one = {reception.core, index, handler};
  }
  reception.handler = one.handler;
  return true;
}

void HandlerCache::forget_removed() {
  cached_ = {};
  removed_.forget();
}

[[gnu::noinline]] void HandlerStrand::set_name() {
  strand_.set_name(fmt::format("handlers of rank {}", rank_.value()));
}

}  // namespace shoal::team
