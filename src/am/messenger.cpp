#include <shoal/am/large_message.hpp>
#include <shoal/am/messenger.hpp>

#include <shoal/base/check.hpp>
#include <shoal/base/type_name.hpp>

#include "sync/pause.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>

namespace shoal::messaging {

/// A message whose handler runs as a task. Keeps the packet, and with it the sender's window.
class Messenger::MessageTask final : public sched::Task {
 public:
  MessageTask(Messenger& messenger, std::shared_ptr<const Handler> instance, const Handler& handler,
              net::Packet* packet, const Message& message)
      : instance_(std::move(instance)), handler_(handler), packet_(packet), message_(message) {
    scope = &messenger.scope();
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
    sync::observe(&message_.messenger);
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

/// Packets of one source, from the first message on whose handler does not exist yet.
struct Messenger::Held {
  net::PacketList packets;
  std::size_t offset = 0;                // into the first packet
  net::Packet* last_disowned = nullptr;  // it and those before it

  void disown_all() {
    net::Packet* packet = last_disowned == nullptr ? packets.front() : last_disowned->next;
    for (; packet != nullptr; packet = packet->next) {
      packet->disown();
      last_disowned = packet;
    }
  }
};

struct Messenger::HeldMessages : std::map<int, Held> {};  // by source

void* context_of(Messenger& messenger) { return messenger.context(); }

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
      statics_(static_handlers()),
      held_(std::make_unique<HeldMessages>()),
      arrivals_(static_cast<std::size_t>(fabric.layout().world_size)) {
  port_.set_waker(this);
  scheduler_.set_progress(*this);
}

Messenger::~Messenger() { port_.set_waker(nullptr); }

// --- sending

net::Link& Messenger::admit_slowly(Rank target) {
  if (!all_open_.load(std::memory_order_relaxed) && sched::in_main_function()) open_instances();
  net::Link& link = link_to(target, net::Lane::normal);
  if (link.has_room()) {
    give_way(link);
    return link;
  }
  if (sched::in_handler()) return link;
  // A task made from a message is not suspended either: the window it would wait for may be held
  // by messages that wait for it. Its messages are queued, like a handler's.
  if (scheduler_.count_slot() != scope_->foreign_slot() && !sched::in_suspendable_task()) {
    return link;
  }
  const sched::ParkedSenderMark mark;
  const std::string what = fmt::format("send() to rank {}", target.value());
  while (!link.has_room()) {
    sched::block(scheduler_.env(), what.c_str(),
                 [&link](sync::Waiter& waiter) { return link.enlist(waiter); });
  }
  return link;
}

net::Link& Messenger::link_to(Rank target, net::Lane lane) {
  const sync::Quiet quiet;
  return fabric_.link(options_.rank, target, lane);
}

[[gnu::noinline]] void Messenger::name_handlers() {
  handlers_.set_name(fmt::format("handlers of rank {}", options_.rank.value()));
}

// The window bounds what this rank sends, not what the others' handlers send back. Those are
// bounded because a task that sends lets its worker handle arrivals at least this often.
void Messenger::give_way(const net::Link& link) {
  if (link.message_count() % kSendsPerLook != 0) return;  // any sparse choice will do
  if (!looks_busy() || !sched::in_suspendable_task()) return;
  sched::block(scheduler_.env(), "send()", [](sync::Waiter& waiter) {
    waiter.wake();  // the worker looks at its arrivals, then goes on here
    return true;
  });
}

void Messenger::append_bytes(net::Link& link, const net::MessageHeader& header,
                             std::span<const std::byte> bytes) {
  append(link, header, 0, [bytes](std::span<std::byte> place) {
    if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
  });
}

void Messenger::append_object(net::Link& link, net::MessageHeader header, std::size_t extra_bytes,
                              std::unique_ptr<ObjectMessage> object) {
  header.handler |= kObjectBit;
  header.size_bytes = sizeof(std::uintptr_t);
  append(link, header, extra_bytes, [&object](std::span<std::byte> place) {
    const auto raw = reinterpret_cast<std::uintptr_t>(object.release());
    std::memcpy(place.data(), &raw, sizeof raw);
  });
}

void Messenger::send_control(const StaticHandler& handler, Rank target,
                             std::span<const std::byte> bytes) {
  net::Link& link = link_to(target, net::Lane::control);
  link.append({handler.index(), handler.signature(), bytes.size()}, 0,
              [bytes](std::span<std::byte> place) {
                if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
              });
}

// --- instance handlers

std::uint32_t Messenger::add_instance(std::shared_ptr<Handler> handler, const std::string& name,
                                      std::string_view spelled) {
  std::uint32_t index = 0;
  {
    const sync::Lock lock(instances_mutex_);
    index = static_cast<std::uint32_t>(instances_.size());
    SHOAL_CHECK(index < kIndexMask, "more than {} instance handlers were made", kIndexMask);
    handler->name = !name.empty() ? name
                                  : fmt::format("active message {} ({})", index,
                                                naming::readable(spelled, "T"));
    const bool all_open = open_count_ == instances_.size();
    instances_.push_back(std::move(handler));
    if (sched::in_main_function() || !all_open) {
      all_open_.store(false, std::memory_order_relaxed);
      return index;
    }
    open_count_ = instances_.size();
  }
  sync::publish(this);
  retry_if_held();
  return index;
}

void Messenger::open_instances() {
  {
    const sync::Lock lock(instances_mutex_);
    if (open_count_ == instances_.size()) return;
    open_count_ = instances_.size();
    all_open_.store(true, std::memory_order_relaxed);
  }
  sync::publish(this);
  retry_if_held();
}

void Messenger::retry_if_held() {
  if (held_count() == 0) return;
  instances_grew_.store(true, std::memory_order_seq_cst);
  wake_for_progress();
}

void Messenger::remove_instance(std::uint32_t index) {
  std::shared_ptr<Handler> removed;
  {
    const sync::Lock lock(instances_mutex_);
    removed.swap(instances_[index]);
  }
  removals_.add(removed);
}

// --- progress

// No arrival is missed: a poster changes the port's head and then looks for sleepers; the holder of
// polling_ gives it back and then looks at the head once more. All seq_cst. A worker that sleeps
// while the flag is up relies on that second look. It does not poll on: handlers that send to their
// own rank for ever must not keep out the tasks.
bool Messenger::poll(bool idle) {
  constexpr int kIdleLooks = 4;
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
  const std::uint64_t sent = scope_->queued_so_far();
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
  const net::PacketHeader& header = packet->header();
  const bool control = header.lane == static_cast<std::uint32_t>(net::Lane::control);
  if (!control && held_count() > 0) {
    const sync::Lock lock(held_mutex_);
    const auto it = held_->find(header.source);
    if (it != held_->end()) {  // keep the order: wait behind what is held already
      held_count_.fetch_add(unprocessed_from(packet, 0), std::memory_order_release);
      it->second.packets.push_back(net::Packet::compact(packet));
      return;
    }
  }
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
        batch(messenger, Rank(taken->header().source), watch),
        mark(!control),
        watch{*messenger.scope_, messenger.removals_.count(), mark} {}
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  net::Packet*& packet;
  const bool control;
  net::RunHeader run;
  Batch batch;  // of the run
  sched::HandlerMark mark;
  const Batch::Watch watch;
  const Handler* handler = nullptr;  // of the last run, if handler_id says which; else nullptr
  std::uint32_t handler_id = 0;
  std::uint64_t count = 0;  // of messages that were processed
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
  processed_ += reception.count;
  if (!reception.control) {
    ArrivalCounter& arrivals = arrivals_[static_cast<std::size_t>(packet->header().source)];
    // relaxed: one writer, read by reports
    arrivals.message_count.store(
        arrivals.message_count.load(std::memory_order_relaxed) + reception.count,
        std::memory_order_relaxed);
    scope_->count_processed(slot, reception.count);
  }
  return taken;
}

void Messenger::read_run(net::Packet& packet, std::size_t& offset, net::RunHeader& run) const {
  if (net::read_run(packet.messages(), offset, run)) [[likely]]
    return;
  fatal_(fmt::format("corrupt packet from rank {}: {} messages of {} bytes end behind it",
                     packet.header().source, std::uint64_t{run.count},
                     std::uint64_t{run.size_bytes}));
}

// False: the run is held back, all of it: handlers stay open.
bool Messenger::process_run(Reception& reception, std::size_t& offset) {
  const net::RunHeader& run = reception.run;
  Batch& batch = reception.batch;
  batch.start(run, reception.packet->body() + offset);
  while (batch.left() > 0) {
    if (!dispatch(reception)) return false;
  }
  offset += run.count * run.step();
  reception.count += run.count;
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
  if (one.handler == nullptr || one.index != index) {
    const sync::Lock lock(instances_mutex_);
    if (index >= open_count_) return false;
    one = {index, instances_[index].get()};
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
  const net::RunHeader& header = reception.run;
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
  const net::RunHeader& header = reception.run;
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
  scope_->fail("a message", std::make_exception_ptr(CheckError(text)));
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
  scheduler_.submit(std::make_unique<MessageTask>(*this, std::move(instance), *reception.handler,
                                                  packet, message));
}

void Messenger::run_inline(Reception& reception) {
  const Handler& handler = *reception.handler;
  reception.mark.show(handler.name);
  try {
    run_as_handler(reception.packet, [found = &handler, batch = &reception.batch] {
      found->invoke(found->self, *batch);
    });
  } catch (...) {
    fail(handler);
  }
  reception.mark.hide();
}

[[gnu::noinline]] void Messenger::fail(const Handler& handler) {
  scope_->fail(handler.name, std::current_exception());
}

// --- messages for handlers that are not open yet

// What the messages of a packet from `offset` on leave queued and not processed: each itself, and a
// large one also its release at the sender, which is not due before its header is handled here.
std::uint64_t Messenger::unprocessed_from(net::Packet* packet, std::size_t offset) const {
  std::uint64_t count = 0;
  while (offset < packet->messages().size()) {
    net::RunHeader run;
    read_run(*packet, offset, run);
    const std::uint64_t each = (run.handler & kLargeBit) != 0 ? 2 : 1;
    count += run.count * each;
    offset += run.count * run.step();
  }
  return count;
}

void Messenger::hold(net::Packet* packet, std::size_t offset) {
  packet = net::Packet::compact(packet);
  net::RunHeader first;  // that is held
  std::size_t first_message = offset;
  read_run(*packet, first_message, first);
  {
    const sync::Lock lock(held_mutex_);
    Held& held = (*held_)[packet->header().source];
    held.offset = offset;
    held.packets.push_back(packet);
    held_count_.fetch_add(unprocessed_from(packet, offset), std::memory_order_release);
    // drop_held() looks here after the scope was marked as failed: one of the two sees the other.
    // retry_if_held() looks at held_count_ after a handler was opened under instances_mutex_:
    // either it sees this count and retries, or the open handler is seen here. Under held_mutex_:
    // held_at_rest() never sees the count without the flag.
    if (scope_->failed() || is_open(first.handler & kIndexMask)) {
      instances_grew_.store(true, std::memory_order_seq_cst);
      raise_arrived();
    }
  }
}

bool Messenger::is_open(std::uint32_t index) {
  const sync::Lock lock(instances_mutex_);
  return index < open_count_;
}

std::optional<std::uint64_t> Messenger::held_at_rest() {
  const sync::Lock lock(held_mutex_);
  if (instances_grew_.load(std::memory_order_seq_cst)) return std::nullopt;
  for (auto& [source, held] : *held_) held.disown_all();
  return held_count();
}

void Messenger::drop_held() {
  {
    const sync::Lock lock(held_mutex_);
    if (held_->empty()) return;
  }
  instances_grew_.store(true, std::memory_order_seq_cst);
  wake_for_progress();
}

void Messenger::retry_held() {
  HeldMessages all;
  {
    const sync::Lock lock(held_mutex_);
    all.swap(*held_);
    held_count_.store(0, std::memory_order_release);
    // Lowered before any look at the handlers: one that is made after that raises it again.
    instances_grew_.store(false, std::memory_order_seq_cst);
  }
  for (auto& [source, held] : all) {
    std::size_t offset = held.offset;
    while (net::Packet* packet = held.packets.pop_front()) {
      if (process(packet, offset)) {
        packet->release();
        offset = 0;
        continue;
      }
      hold(packet, offset);
      while (net::Packet* rest = held.packets.pop_front()) on_packet(rest);
    }
  }
}

std::vector<std::string> Messenger::describe_held() const {
  std::vector<std::string> lines;
  const sync::Lock lock(held_mutex_);
  lines.reserve(held_->size());
  for (const auto& [source, held] : *held_) {
    lines.push_back(fmt::format(
        "messages from rank {} are for an active message that was never made here", source));
  }
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
  const sync::Lock lock(instances_mutex_);
  if (index >= instances_.size()) {
    return fmt::format("active message {}, which was never made here", index);
  }
  if (instances_[index] == nullptr) return fmt::format("active message {}, destroyed here", index);
  return instances_[index]->name;
}

std::vector<std::string> Messenger::handler_names(const net::Packet& packet) const {
  std::vector<std::string> names;
  net::RunHeader run;
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
