#include <shoal/am/large_message.hpp>
#include <shoal/am/messenger.hpp>

#include <shoal/base/check.hpp>

#include "am/early_messages.hpp"
#include "sync/pause.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>

namespace shoal::messaging {

/// A message whose handler runs as a task. Keeps the packet, and with it the sender's window.
class Messenger::MessageTask final : public sched::Task {
 public:
  MessageTask(std::shared_ptr<const Handler> instance, const Handler& handler, net::Packet* packet,
              const Message& message)
      : instance_(std::move(instance)), handler_(handler), packet_(packet), message_(message) {
    scope = &message.channel->scope();
    priority = handler.priority;
    kind = sched::TaskKind::delivered;
    packet_->add_reference();
  }
  ~MessageTask() override {
    if (!ran_) {  // the scope failed: only free what the message holds
      message_.dropped = true;
      invoke();
    }
    packet_->release();
  }

  void run() override {
    ran_ = true;
    invoke();
  }
  [[nodiscard]] std::string name() const override { return handler_.name; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return handler_.name; }
  // The sender's window must not wait for what this task waits for.
  void before_parking() override { packet_->disown(); }

 private:
  void invoke() {
    sync::observe(&message_.channel->messenger());
    sync::observe(packet_);
    Batch batch(message_);
    handler_.invoke(handler_.self, batch);
  }

  std::shared_ptr<const Handler> instance_;  // keeps handler_ alive, unless that is a static one
  const Handler& handler_;
  net::Packet* packet_;
  Message message_;
  bool ran_ = false;
};

/// Channels of teams, by id.
struct Messenger::Teams {
  mutable sync::Mutex mutex;
  std::map<std::uint64_t, Channel*> channels SHOAL_GUARDED_BY(mutex);
};

void* context_of(Channel& channel, ContextKind kind) {
  return kind == ContextKind::team ? channel.context() : channel.messenger().context();
}

ObjectMessage* object_of(const Message& message) {
  std::uintptr_t raw = 0;
  std::memcpy(&raw, message.arguments.data(), sizeof raw);
  return reinterpret_cast<ObjectMessage*>(raw);
}

Messenger::Messenger(net::Fabric& fabric, sched::Scheduler& scheduler,
                     const MessengerOptions& options, FatalHandler fatal)
    : fabric_(fabric),
      scheduler_(scheduler),
      options_(options),
      fatal_(std::move(fatal)),
      size_(fabric.layout().world_size),
      port_(fabric.port(options.rank)),
      links_(fabric.links_of(options.rank)),
      teams_(std::make_unique<Teams>()),
      statics_(static_handlers()),
      early_(std::make_unique<EarlyMessages>()),
      arrivals_(static_cast<std::size_t>(fabric.layout().world_size)) {
  port_.set_waker(this);
  scheduler_.set_progress(*this);
}

Messenger::~Messenger() { port_.set_waker(nullptr); }

// --- teams

// A channel that is added is seen by whoever keeps a message for it, or the message is seen here:
// can_handle() looks for the channel after the message was counted, under the lock of early_.
void Messenger::add_channel(Channel& channel) {
  if (world_ == nullptr) {
    world_ = &channel;
    return;
  }
  {
    const sync::Lock lock(teams_->mutex);
    const bool is_new = teams_->channels.emplace(channel.team(), &channel).second;
    SHOAL_CHECK(is_new, "rank {} has a team with the id {} already", rank().value(),
                channel.team());
  }
  sync::publish(this);
  retry_if_early();
}

void Messenger::remove_channel(Channel& channel) {
  if (world_ == &channel) return;
  {
    const sync::Lock lock(teams_->mutex);
    const auto it = teams_->channels.find(channel.team());
    if (it != teams_->channels.end() && it->second == &channel) teams_->channels.erase(it);
  }
  removals_.add(std::make_shared<Handler>());  // so that kept_ forgets the channel
}

Channel* Messenger::find_channel(std::uint64_t team) const {
  if (team == 0) return world_;
  const sync::Lock lock(teams_->mutex);
  const auto it = teams_->channels.find(team);
  return it != teams_->channels.end() ? it->second : nullptr;
}

// --- sending

net::Link& Messenger::link_to(Rank target, net::Lane lane) {
  const sync::Quiet quiet;
  return fabric_.link(options_.rank, target, lane);
}

[[gnu::noinline]] void Messenger::name_handlers() {
  handlers_.set_name(fmt::format("handlers of rank {}", options_.rank.value()));
}

void Messenger::send_control(const StaticHandler& handler, Rank target,
                             std::span<const std::byte> bytes) {
  net::Link& link = link_to(target, net::Lane::control);
  link.append({handler.index(), handler.signature(), bytes.size()}, 0,
              [bytes](std::span<std::byte> place) {
                if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
              });
}

void Messenger::retry_if_early() {
  if (held_count() == 0) return;
  instances_grew_.store(true, std::memory_order_seq_cst);
  wake_for_progress();
}

// --- progress

// No arrival is missed: a poster changes the port's head and then looks for sleepers; the holder of
// polling_ gives it back and then looks at the head once more. All seq_cst. A worker that sleeps
// while the flag is up relies on that second look. It does not poll on: handlers that send to their
// own rank for ever must not keep out the tasks.
bool Messenger::poll(bool idle) {
  constexpr int kIdleLooks = 4;
  if (!idle && has_teams_.load(std::memory_order_relaxed)) [[unlikely]]
    idle_listener_->on_busy();
  const bool polls_transport = may_poll_transport();
  lower_arrived();  // before the look at the port: whoever posts raises it afterwards
  if (!polls_transport && has_no_arrivals()) return false;
  // seq_cst: who is seen with the flag looks again after this
  if (polling_.load(std::memory_order_seq_cst) ||
      polling_.exchange(true, std::memory_order_seq_cst)) {
    return poll_transport(nullptr);
  }
  net::DirectArrivals direct{&port_, idle ? kIdleLooks : 1, {}};
  const bool did = poll_transport(&direct);
  lower_arrived();
  const bool took = (!direct.packets.empty() || !has_no_arrivals()) && handle_arrivals(direct);
  polling_.store(false, std::memory_order_seq_cst);
  // Also after nothing was found: others may have slept in the meantime, relying on this.
  if (!has_no_arrivals()) wake_for_progress();
  if (!took) return did;
  // What handlers have sent leaves.
  if (polls_transport && fabric_.transport()->has_unsent()) {
    static_cast<void>(poll_transport(nullptr));
  }
  return true;  // the caller comes back before it sleeps
}

// A receiver that takes every message of a stream by itself spends its time, and the sender's, on
// the cache lines that they share. After a few takes in a row that brought little, it waits while
// more messages come, until they fill a packet or for a few microseconds. Who talks to and fro, and
// so waits for every message, sends between two takes: then there is no row.
void Messenger::before_take(const net::Link& link) {
  constexpr int kPausesMin = 16;  // between two looks; each look costs the sender a cache line
  constexpr int kPausesMax = 128;
  if (lean_takes_ < kLeanTakesMax) return;
  std::uint64_t seen = 0;
  for (int pauses = kPausesMin; pauses <= kPausesMax; pauses *= 2) {
    const std::uint64_t now = link.message_count();
    if (now == seen || link.has_full_packet()) return;
    seen = now;
    for (int i = 0; i < pauses; ++i) sync::pause_briefly();
  }
}

void Messenger::note_take(std::uint64_t message_count) {
  if (!options_.may_linger) return;
  const std::uint64_t sent = world_->scope().queued_so_far();
  const bool in_a_row = std::exchange(sent_before_, sent) == sent;
  const bool lingers = lean_takes_ >= kLeanTakesMax;
  const bool helps = lingers ? message_count > 1 : message_count < kManyMessages;
  if (!in_a_row || !helps) {
    lean_takes_ = 0;
  } else if (!lingers) {
    ++lean_takes_;
  }
}

bool Messenger::handle_arrivals(net::DirectArrivals& direct) {
  const std::uint64_t processed_before = processed_;
  if (may_poll_transport()) {
    polls_next_.store(scheduler_.count_slot(), std::memory_order_relaxed);
  }
  bool did = !direct.packets.empty();
  while (net::Packet* packet = direct.packets.pop_front()) on_packet(packet);
  if (!port_.looks_empty() && take_from_port()) did = true;
  if (did) note_take(processed_ - processed_before);
  if (instances_grew_.load(std::memory_order_seq_cst)) {
    retry_held();
    did = true;
  }
  polls_next_.store(kNobody, std::memory_order_relaxed);
  return did;
}

bool Messenger::take_from_port() {
  constexpr int kItemsMax = 64;  // then tasks have their turn
  bool did = false;
  for (int i = 0; i < kItemsMax; ++i) {
    net::PortItem* item = port_.try_take();
    if (item == nullptr) break;
    item->deliver(*this);
    did = true;
  }
  return did;
}

// By the calling thread.
bool Messenger::may_poll_transport() const {
  if (!options_.polls_transport) return false;
  return options_.only_poller < 0 || scheduler_.count_slot() == options_.only_poller;
}

bool Messenger::poll_transport(net::DirectArrivals* direct) {
  if (!may_poll_transport()) return false;
  try {
    return fabric_.transport()->poll(options_.only_poller >= 0, direct);
  } catch (const std::exception& error) {
    fatal_(error.what());
    throw;
  }
}

bool Messenger::has_no_arrivals() const {
  return port_.looks_empty() && !instances_grew_.load(std::memory_order_seq_cst);
}

bool Messenger::looks_busy() const {
  return !polling_.load(std::memory_order_seq_cst) && !has_no_arrivals();
}

bool Messenger::must_poll(WorkerId worker) const {
  if (!options_.polls_transport) return false;
  return options_.only_poller < 0 || options_.only_poller == worker;
}

bool Messenger::is_streaming() const {
  return options_.polls_transport && fabric_.transport()->is_streaming();
}

bool Messenger::on_idle() { return idle_listener_ != nullptr && idle_listener_->on_idle(); }

void Messenger::on_packet(net::Packet* packet) {
  const bool control = packet->header().lane == static_cast<std::uint32_t>(net::Lane::control);
  if (control || held_count() == 0) return take(packet);
  // Keep the order: behind what waits already in the stream of each message.
  net::PacketList parts = part(packet, 0);
  while (net::Packet* one = parts.pop_front()) {
    net::Run run;
    std::size_t offset = 0;
    read_run(*one, offset, run);
    const Stream stream{run.team, one->header().source};
    if (!early_->add_behind(stream, one, unprocessed_from(one, 0))) take(one);
  }
}

void Messenger::take(net::Packet* packet) {
  std::size_t offset = 0;
  if (process(packet, offset)) {
    packet->release();
  } else {
    hold(packet, offset);
  }
}

/// A packet in the hands of the worker that runs the progress.
struct Messenger::Reception {
  Reception(Messenger& messenger, net::Packet*& taken)
      : packet(taken),
        control(taken->header().lane == static_cast<std::uint32_t>(net::Lane::control)),
        channel(messenger.world_),
        batch(*channel, Rank(taken->header().source), watch),
        mark(!control),
        watch{&channel->scope(), messenger.removals_.count(), mark} {}
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  /// Messages of other channels than the last one that were processed.
  struct Tally {
    Channel* channel;
    std::uint64_t count;
  };

  net::Packet*& packet;
  const bool control;
  net::Run run;
  Channel* channel;  // of the last run
  Batch batch;       // of the run
  sched::HandlerMark mark;
  Batch::Watch watch;
  const Handler* handler = nullptr;  // of the last run, if handler_id says which; else nullptr
  std::uint32_t handler_id = 0;
  std::uint64_t count = 0;  // of messages of `channel` that were processed
  std::vector<Tally> others;
};

// Counts the messages when they are all processed. What was kept for them is gone before that: the
// captures of a handler that was removed meanwhile are destroyed before wait() can return.
bool Messenger::process(net::Packet*& packet, std::size_t& offset) {
  Reception reception(*this, packet);
  const int slot = scheduler_.count_slot();
  bool taken = true;
  {
    const Removals::Handling handling(removals_);
    if (removals_.has_news()) forget_removed();
    while (taken && offset < packet->messages().size()) {
      const std::size_t begin = offset;
      read_run(*packet, offset, reception.run);
      taken = process_run(reception, offset);
      if (!taken) offset = begin;
    }
  }
  if (removals_.has_news()) forget_removed();
  if (reception.control) {
    processed_ += reception.count;
    return taken;
  }
  std::uint64_t count = reception.count;
  for (const Reception::Tally& other : reception.others) count += other.count;
  processed_ += count;
  ArrivalCounter& arrivals = arrivals_[static_cast<std::size_t>(packet->header().source)];
  // relaxed: one writer, read by reports
  arrivals.message_count.store(arrivals.message_count.load(std::memory_order_relaxed) + count,
                               std::memory_order_relaxed);
  for (const Reception::Tally& other : reception.others) {
    other.channel->scope().count_processed(slot, other.count);
  }
  reception.channel->scope().count_processed(slot, reception.count);
  return taken;
}

void Messenger::read_run(net::Packet& packet, std::size_t& offset, net::Run& run) const {
  if (net::read_run(packet.messages(), offset, run)) [[likely]]
    return;
  fatal_(fmt::format("corrupt packet from rank {}: {} messages of {} bytes end behind it",
                     packet.header().source, std::uint64_t{run.count},
                     std::uint64_t{run.size_bytes}));
}

// False: the run is held back, all of it: handlers stay open.
bool Messenger::process_run(Reception& reception, std::size_t& offset) {
  const net::Run& run = reception.run;
  if (run.team != reception.channel->team() && !change_channel(reception)) [[unlikely]]
    return false;
  Batch& batch = reception.batch;
  batch.start(run, reception.packet->body() + offset);
  while (batch.left() > 0) {
    if (!dispatch(reception)) return false;
  }
  offset += run.count * run.step();
  reception.count += run.count;
  return true;
}

// False: the team of the run does not exist here yet.
[[gnu::noinline]] bool Messenger::change_channel(Reception& reception) {
  Channel* const channel = find_channel(reception.run.team);
  if (channel == nullptr) return false;
  if (reception.count > 0) reception.others.push_back({reception.channel, reception.count});
  reception.count = 0;
  reception.channel = channel;
  reception.batch.message().channel = channel;
  reception.watch.scope = &channel->scope();
  reception.handler = nullptr;
  return true;
}

// Looks for the handler of the message at hand; none if there is none any more. False: it is not
// open yet.
[[gnu::noinline]] bool Messenger::find(Reception& reception) {
  const std::uint32_t handler = reception.run.handler;
  const std::uint32_t index = handler & kIndexMask;
  reception.handler_id = handler;
  reception.handler = nullptr;
  if (!reception.control) {
    const std::int32_t source = reception.packet->header().source;
    // relaxed: one writer, read by reports
    arrivals_[static_cast<std::size_t>(source)].last_handler.store(handler,
                                                                   std::memory_order_relaxed);
  }
  if ((handler & kInstanceBit) != 0) return find_instance(reception);
  if (index < statics_.size()) reception.handler = &statics_[index];
  return true;
}

bool Messenger::find_instance(Reception& reception) {
  const std::uint32_t index = reception.handler_id & kIndexMask;
  Kept& one = kept(index);
  if (one.handler == nullptr || one.index != index || one.channel != reception.channel) {
    const Handler* handler = nullptr;
    if (!reception.channel->handlers().find(index, handler)) return false;
    one = {reception.channel, index, handler};
  }
  reception.handler = one.handler;
  return true;
}

void Messenger::forget_removed() {
  kept_ = {};
  removals_.forget();
}

// Runs some of the batch. False: it is held back. Flat: this is the cost of a lone message.
[[gnu::flatten]] bool Messenger::dispatch(Reception& reception) {
  const net::Run& header = reception.run;
  Message& message = reception.batch.message();
  // What was removed meanwhile is not found any more.
  const bool failed = reception.batch.look();
  if (reception.handler == nullptr || header.handler != reception.handler_id ||
      removals_.has_news()) {
    if (removals_.has_news()) forget_removed();
    if (!find(reception) && !failed) return false;
  }
  const Handler* const handler = reception.handler;
  message.is_object = (header.handler & kObjectBit) != 0;
  message.dropped = failed && !reception.control;
  if (handler == nullptr || handler->signature != header.signature) [[unlikely]] {
    refuse(reception);
  } else if (handler->delivery == Delivery::task && !reception.control && !failed) {
    submit_task(reception);
  } else {
    run_inline(reception);
  }
  return true;
}

// There is no such handler, or it takes something else.
[[gnu::noinline]] void Messenger::refuse(Reception& reception) {
  const Message& message = reception.batch.take();
  const net::Run& header = reception.run;
  const Handler* const handler = reception.handler;
  if (message.is_object) delete object_of(message);
  if ((header.handler & kLargeBit) != 0) {
    std::span<const std::byte> rest;
    drop_large(message, split_large(message, rest));
  }
  std::string text;
  if (handler != nullptr) {
    text = fmt::format(
        "a message from rank {} does not fit the parameters of '{}': make all active messages in "
        "the same order on all ranks",
        message.source.value(), handler->name);
  } else if (!message.dropped) {
    text = fmt::format(
        "a message from rank {} is for active message {}, which was destroyed here: keep it until "
        "wait() has returned",
        message.source.value(), header.handler & kIndexMask);
  } else {
    return;
  }
  message.channel->scope().fail("a message", std::make_exception_ptr(CheckError(text)));
}

// The task keeps the packet. A nearly empty one, kept by each of many tasks, would take far more
// memory than the window accounts for.
[[gnu::noinline]] void Messenger::submit_task(Reception& reception) {
  net::Packet*& packet = reception.packet;
  Batch& batch = reception.batch;
  const std::ptrdiff_t offset = batch.at() - packet->body();
  packet = net::Packet::compact(packet);
  batch.move_to(packet->body() + offset);
  const Message& message = batch.take();
  std::shared_ptr<const Handler> instance;
  if ((reception.handler_id & kInstanceBit) != 0) instance = reception.handler->shared_from_this();
  scheduler_.submit(
      std::make_unique<MessageTask>(std::move(instance), *reception.handler, packet, message));
}

void Messenger::run_inline(Reception& reception) {
  const Handler& handler = *reception.handler;
  reception.mark.show(handler.name);
  try {
    run_as_handler(reception.packet, [found = &handler, batch = &reception.batch] {
      found->invoke(found->self, *batch);
    });
  } catch (...) {
    fail(reception);
  }
  reception.mark.hide();
}

[[gnu::noinline]] void Messenger::fail(const Reception& reception) {
  reception.channel->scope().fail(reception.handler->name, std::current_exception());
}

// --- messages for handlers that are not open yet, and for teams that do not exist yet

std::uint64_t Messenger::held_count() const { return early_->count(); }

std::uint64_t Messenger::held_count(std::uint64_t team) const { return early_->count_of(team); }

// Number of messages from `offset` on that are queued and not processed. A large message counts
// twice: its release at the sender is not due before its header is handled here.
std::uint64_t Messenger::unprocessed_from(net::Packet* packet, std::size_t offset) const {
  std::uint64_t count = 0;
  while (offset < packet->messages().size()) {
    net::Run run;
    read_run(*packet, offset, run);
    const std::uint64_t each = (run.handler & kLargeBit) != 0 ? 2 : 1;
    count += run.count * each;
    offset += run.count * run.step();
  }
  return count;
}

bool Messenger::is_mixed(net::Packet& packet, std::size_t offset) const {
  net::Run first;
  net::Run run;
  read_run(packet, offset, first);
  offset += first.count * first.step();
  while (offset < packet.messages().size()) {
    read_run(packet, offset, run);
    if (run.team != first.team) return true;
    offset += run.count * run.step();
  }
  return false;
}

// Packets of one stream each with what stands behind `offset`, in the order of the messages. The
// packet itself if it is of one stream. Copies do not count towards the sender's window.
net::PacketList Messenger::part(net::Packet* packet, std::size_t offset) const {
  net::PacketList parts;
  if (offset == 0 && !is_mixed(*packet, offset)) {
    parts.push_back(packet);
    return parts;
  }
  std::map<std::uint64_t, net::Packet*> by_team;
  while (offset < packet->messages().size()) {
    net::Run run;
    read_run(*packet, offset, run);
    net::Packet*& copy = by_team[run.team];
    if (copy == nullptr) {
      copy = net::Packet::create(packet->messages().size() + net::kMessageAlign);
      net::PacketHeader header = packet->header();
      header.size_bytes = 0;
      header.message_count = 0;
      copy->header() = header;
      parts.push_back(copy);
    }
    for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) {
      const std::span<std::byte> place =
          copy->add_message({run.handler, run.signature, run.size_bytes, run.team});
      if (!place.empty()) std::memcpy(place.data(), packet->body() + offset, place.size());
    }
  }
  sync::pass_on(packet, parts.front());
  packet->release();
  return parts;
}

// From `offset` on. Other teams than that of the first message go on.
void Messenger::hold(net::Packet* packet, std::size_t offset) {
  if (is_mixed(*packet, offset)) {
    net::PacketList parts = part(packet, offset);
    while (net::Packet* one = parts.pop_front()) take(one);
    return;
  }
  packet = net::Packet::compact(packet);
  net::Run first;  // that is held
  std::size_t first_message = offset;
  read_run(*packet, first_message, first);
  // drop_held() looks here after a scope was marked as failed: one of the two sees the other.
  // retry_if_early() looks at the count after a handler was opened or a channel added, under their
  // locks: either it sees this count and retries, or can_handle() sees them. Under the lock of
  // early_: held_rests() never sees the count without the flag.
  const Rank source(packet->header().source);
  const bool is_first = early_->add({first.team, source.value()}, packet, offset,
                                    unprocessed_from(packet, offset), [this, &first] {
                                      if (!can_handle(first)) return;
                                      instances_grew_.store(true, std::memory_order_seq_cst);
                                      raise_arrived();
                                    });
  if (is_first && find_channel(first.team) == nullptr) {
    idle_listener_->on_unknown_team(first.team, source);
  }
}

// The message of a team that is made later on comes too late for this: its scope fails at once.
std::uint64_t Messenger::drop_early(std::uint64_t team, Rank source) {
  Early early =
      early_->take({team, source.value()}, [this, team] { return find_channel(team) != nullptr; });
  std::uint64_t count = 0;
  std::size_t offset = early.offset;
  while (net::Packet* packet = early.packets.pop_front()) {
    count += drop(*packet, std::exchange(offset, 0));
    packet->release();
  }
  return count;
}

// Frees what the messages hold.
std::uint64_t Messenger::drop(net::Packet& packet, std::size_t offset) {
  std::uint64_t count = 0;
  while (offset < packet.messages().size()) {
    net::Run run;
    read_run(packet, offset, run);
    for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) {
      const Message message{world_, Rank(packet.header().source), false, true,
                            packet.messages().subspan(offset, run.size_bytes)};
      if ((run.handler & kObjectBit) != 0) delete object_of(message);
      if ((run.handler & kLargeBit) != 0) {
        std::span<const std::byte> rest;
        drop_large(message, split_large(message, rest));
      }
    }
    count += run.count;
  }
  return count;
}

// Or drop.
bool Messenger::can_handle(const net::Run& run) const {
  const Channel* const channel = find_channel(run.team);
  if (channel == nullptr) return false;
  if ((run.handler & kInstanceBit) == 0 || channel->scope().failed()) return true;
  return channel->handlers().is_open(run.handler & kIndexMask);
}

bool Messenger::held_rests() {
  return early_->disown_all([this] { return instances_grew_.load(std::memory_order_seq_cst); });
}

void Messenger::drop_held() {
  if (early_->empty()) return;
  instances_grew_.store(true, std::memory_order_seq_cst);
  wake_for_progress();
}

void Messenger::retry_held() {
  // Lowered before any look at the handlers: one that is made after that raises it again.
  EarlyMessages::Streams all =
      early_->take_all([this] { instances_grew_.store(false, std::memory_order_seq_cst); });
  for (auto& [stream, early] : all) {
    std::size_t offset = early.offset;
    while (net::Packet* packet = early.packets.pop_front()) {
      if (process(packet, offset)) {
        packet->release();
        offset = 0;
        continue;
      }
      hold(packet, offset);
      while (net::Packet* rest = early.packets.pop_front()) on_packet(rest);
    }
  }
}

std::vector<std::string> Messenger::describe_held(std::uint64_t team) const {
  std::vector<std::string> lines;
  early_->for_each([&](const Stream& stream) {
    const bool exists = find_channel(stream.team) != nullptr;
    if (exists ? stream.team != team : team != 0) return;
    lines.push_back(fmt::format("messages from rank {} are for {} that was never made here",
                                stream.source, exists ? "an active message" : "a team"));
  });
  return lines;
}

std::vector<Messenger::Arrivals> Messenger::arrivals() const {
  std::vector<Arrivals> result;
  for (std::size_t source = 0; source < arrivals_.size(); ++source) {
    const ArrivalCounter& counter = arrivals_[source];
    const Arrivals one{Rank(static_cast<int>(source)),
                       counter.message_count.load(std::memory_order_relaxed),
                       counter.last_handler.load(std::memory_order_relaxed)};
    if (one.message_count > 0 || one.last_handler != 0) result.push_back(one);
  }
  return result;
}

std::string Messenger::handler_name(std::uint32_t handler) const {
  const std::uint32_t index = handler & kIndexMask;
  if ((handler & kInstanceBit) == 0) {
    return index < statics_.size() ? statics_[index].name : "an unknown handler";
  }
  if ((handler & net::kTeamBit) != 0) return fmt::format("active message {} of a team", index);
  return world_->handlers().name_of(index);
}

std::vector<std::string> Messenger::handler_names(const net::Packet& packet) const {
  std::vector<std::string> names;
  net::Run run;
  for (std::size_t offset = 0; offset < packet.messages().size();) {
    if (!net::read_run(packet.messages(), offset, run)) break;
    offset += run.count * run.step();
    const std::string name = handler_name(run.handler);
    names.push_back(run.count == 1 ? name : fmt::format("{} x {}", std::uint64_t{run.count}, name));
  }
  return names;
}

Messenger::Statistics Messenger::statistics() const {
  Statistics sum{.bytes_sent = payload_bytes_.load(std::memory_order_relaxed)};
  for (const net::LinkState& link : fabric_.link_states(options_.rank)) {
    sum.messages_sent += link.message_count;
    sum.bytes_sent += link.byte_count;
  }
  for (const ArrivalCounter& source : arrivals_) {
    sum.messages_received += source.message_count.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace shoal::messaging
