#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/trace/probes.hpp>
#include <shoal/large_message.hpp>

#include "env/host.hpp"
#include "sched/memory_bound.hpp"
#include "team/large_wire.hpp"
#include "team/messenger.hpp"
#include "team/multicast_wire.hpp"
#include "team/receiver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace shoal::team {

namespace {

// Weight of a payload in the window: large enough to hold back a flood of payloads that the
// transport would buffer, and small enough that one large payload does not wait for the one before.
constexpr std::size_t kPayloadWeightMax = 64UL << 10U;

class DiscardEvent final : public CountedEvent {
 public:
  DiscardEvent(TeamCore& core, std::unique_ptr<std::byte[]> scratch)
      : CountedEvent(core, "a dropped payload"), scratch_(std::move(scratch)) {}

 private:
  void act() override {}
  const std::unique_ptr<std::byte[]> scratch_;
};

/// Event before the arrival of a payload: checks that it is the one that was sent.
class CheckEvent final : public net::Completion {
 public:
  CheckEvent(const Message& message, std::uint64_t expected, std::span<const std::byte> place,
             std::unique_ptr<CountedEvent> arrived)
      : core_(*message.core),
        source_(message.source),
        expected_(expected),
        place_(place),
        arrived_(std::move(arrived)) {}

  void run() override {
    const std::unique_ptr<CheckEvent> self(this);
    if (net::checksum_of(place_) != expected_) {
      core_.fail(
          "a large message",
          std::make_exception_ptr(TransportError(fmt::format(
              "corrupt payload of {} bytes of '{}' from rank {}: it was changed before its release "
              "function ran, or before the future of the operation was ready. If nothing of the "
              "program writes there, the network or its driver damages data",
              place_.size(), arrived_->name(), source_.value()))));
    }
    sync::pass_on(this, arrived_.get());
    arrived_.release()->run();
  }

 private:
  TeamCore& core_;
  const Rank source_;
  const std::uint64_t expected_;
  const std::span<const std::byte> place_;
  std::unique_ptr<CountedEvent> arrived_;
};

/// Event at the end of a large transfer to this process.
class TransferEvent final : public net::Completion {
 public:
  TransferEvent(sched::MemoryBoundLimit& limit, net::Completion* next)
      : limit_(limit), next_(next) {
    limit.begin_transfer();
  }

  void run() override {
    const std::unique_ptr<TransferEvent> self(this);
    limit_.end_transfer();
    sync::pass_on(this, next_);
    next_->run();
  }

 private:
  sched::MemoryBoundLimit& limit_;
  net::Completion* const next_;
};

CountedEvent* release_of(const LargeHeader& header) {
  return reinterpret_cast<CountedEvent*>(header.local_release);
}

}  // namespace

void PayloadSizes::note(const std::string& name, std::size_t size_bytes) {
  constexpr std::uint64_t kLooks = 64;
  constexpr std::uint64_t kFar = 8;  // so many times smaller is far below
  sum_bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
  if (count_.fetch_add(1, std::memory_order_relaxed) + 1 != kLooks) return;
  const std::uint64_t mean_bytes = sum_bytes_.load(std::memory_order_relaxed) / kLooks;
  if (mean_bytes >= kLargeMessageBytes / kFar) return;
  env::write_to_standard_error(fmt::format(
      "shoal: warning: the first {} payloads of the large message '{}' have {} bytes on average: "
      "below about {} bytes an active message that takes a std::vector or std::span is faster\n",
      kLooks, name, mean_bytes, kLargeMessageBytes));
}

namespace {

constexpr const char* kArrived = "payload arrived";

void note_phase(std::uint64_t id, Rank peer, std::size_t size_bytes, const char* phase) {
  if (id == 0 || !trace::on<trace::Category::message>()) return;
  trace::large_phase(id & ~sched::HandlerMark::kReleaseBit,
                     static_cast<std::uint32_t>(peer.value()), size_bytes,
                     trace::detail::name_of(phase));
}

}  // namespace

void CountedEvent::run() {
  const std::unique_ptr<CountedEvent> self(this);
  note_phase(message_id_, peer_, 0, phase_);
  if (core_.failed()) return;
  // Its receiver does not end meanwhile. In the handler of its announcement that is so already.
  DeferredReclaim& removed = core_.messenger().receiver().handlers().removed();
  std::optional<DeferredReclaim::Handling> handling;
  if (!removed.is_handling()) handling.emplace(removed);
  sched::HandlerMark mark;
  mark.show(name_);
  mark.number_from(message_id_);  // of one that has arrived: handled once more, with its payload
  mark.begin();
  try {
    core_.messenger().receiver().strand().run(this, core_, [this] { act(); });
  } catch (...) {
    core_.fail(name_, sched::caught_exception());
  }
}

namespace {

// Ends the counted release before an exception leaves: a main function unwinds only after that.
net::Link& admit(TeamCore& core, const Route& route, std::unique_ptr<CountedEvent>& release) {
  try {
    return core.admit(route.target, route.handler);
  } catch (...) {
    release.reset();
    throw;
  }
}

}  // namespace

void send_large(TeamCore& core, const Route& route, const Payload& payload,
                std::span<const std::byte> arguments, std::unique_ptr<CountedEvent> release) {
  send_large_below(core, route, payload, {{}, arguments}, std::move(release));
}

void send_large_below(TeamCore& core, const Route& route, const Payload& payload,
                      const LargeParts& parts, std::unique_ptr<CountedEvent> release) {
  const std::span<const std::byte> bytes = payload.bytes;
  net::Link& link = admit(core, route, release);
  Messenger& messenger = core.messenger();
  net::Transport* const transport = messenger.fabric().transport();
  LargeHeader header;
  header.size_bytes = bytes.size();
  header.count = payload.count;
  const bool local = core.is_local(link);
  sync::publish(release.get());
  CountedEvent* const done = release.release();  // deletes itself when it has run
  if (local) {
    header.local_payload = reinterpret_cast<std::uint64_t>(bytes.data());
    header.local_release = reinterpret_cast<std::uint64_t>(done);
  } else {
    header.tag = transport->new_payload_tag();
    if (payload.is_checked && messenger.checks_payloads()) {
      header.checked = 1;
      header.checksum = net::checksum_of(bytes);
    }
  }
  const net::MessageHeader message =
      core.header_of(route, parts.multicast.size() + kLargeHeaderBytes + parts.arguments.size());
  const std::size_t weight = std::min(bytes.size(), kPayloadWeightMax);
  try {
    core.append(link, message, weight, [&](std::span<std::byte> place) {
      std::byte* at = std::ranges::copy(parts.multicast, place.begin()).out.base();
      std::memcpy(at, &header, sizeof header);
      std::ranges::copy(parts.arguments, at + kLargeHeaderBytes);
      if (!trace::on<trace::Category::message>()) return;
      const auto number = static_cast<std::uint32_t>(link.message_count());
      const std::uint64_t id = net::trace_id(link.source(), link.target(), link.lane(), number);
      done->set_phase(id | sched::HandlerMark::kReleaseBit, link.target(), "payload released");
      note_phase(id, link.target(), bytes.size(), "payload announced");
    });
  } catch (...) {
    release.reset(done);
    throw;
  }
  messenger.note_payload(bytes.size() - weight);  // append() has counted the rest
  if (!local) transport->send_payload(messenger.rank(), link.target(), header.tag, bytes, done);
}

// The payload of a multicast in segments is sent only on request, so there is none to drop.
void drop_payload(const Message& message, const LargeHeader& header) {
  if (message.multicast == nullptr) return drop_large(message, header);
  if (message.multicast->header.carries == 0) return;
  Message from_parent = message;
  from_parent.source = message.multicast->parent;
  drop_large(from_parent, header);
}

LargeHeader split_large(const Message& message, std::span<const std::byte>& arguments) {
  if (message.arguments.size() < kLargeHeaderBytes) {
    throw DecodeError("a large message is shorter than its header");
  }
  LargeHeader header{};
  std::memcpy(&header, message.arguments.data(), sizeof header);
  arguments = message.arguments.subspan(kLargeHeaderBytes);
  return header;
}

void receive_large(const Message& message, const LargeHeader& header, std::span<std::byte> place,
                   std::unique_ptr<CountedEvent> arrived) {
  Messenger& messenger = message.core->messenger();
  note_phase(sched::traced_message(), message.source, header.size_bytes, "payload awaited");
  arrived->set_phase(sched::traced_message(), message.source, kArrived);
  if (header.local_release != 0) {
    if (header.size_bytes > 0) {
      std::memcpy(place.data(), reinterpret_cast<const void*>(header.local_payload),
                  header.size_bytes);
    }
    sync::publish(release_of(header));
    messenger.fabric().port(message.source).post(release_of(header));
    arrived.release()->run();
    return;
  }
  // Events delete themselves when they have run.
  net::Completion* done = nullptr;
  if (header.checked != 0) {
    done = new CheckEvent(message, header.checksum, place, std::move(arrived));
  } else {
    done = arrived.release();
  }
  if (header.size_bytes >= kLargeTransferBytes) {
    messenger.place_buffer(place);
    sched::MemoryBoundLimit* const limit = messenger.scheduler().memory_bound_limit();
    if (limit != nullptr) done = new TransferEvent(*limit, done);
  }
  sync::publish(done);
  messenger.fabric().transport()->receive_payload(message.source, messenger.rank(), header.tag,
                                                  place, done);
}

void drop_large(const Message& message, const LargeHeader& header) {
  Messenger& messenger = message.core->messenger();
  if (header.local_release != 0) {
    messenger.fabric().port(message.source).post(release_of(header));
    return;
  }
  // The bytes are in flight and must be received to end the sender's operation. This code does not
  // touch the memory, so that only arriving bytes take pages.
  std::unique_ptr<std::byte[]> scratch(new (std::nothrow) std::byte[header.size_bytes]);
  if (scratch == nullptr) {
    messenger.end_at_once(fmt::format("no memory to drop a payload of {} bytes from rank {}",
                                      header.size_bytes, message.source.value()));
  }
  const std::span place(scratch.get(), header.size_bytes);
  auto discard = std::make_unique<DiscardEvent>(*message.core, std::move(scratch));
  messenger.fabric().transport()->receive_payload(message.source, messenger.rank(), header.tag,
                                                  place, discard.release());
}

void check_live(const TeamCore& core, const Handler& handler) {
  if (core.handlers().is_live(handler.index)) return;
  throw CheckError(fmt::format("a payload is for {}: keep it until wait() has returned",
                               core.handlers().name_of(handler.index)));
}

void refuse_buffer(const std::string& name, std::size_t wanted, std::size_t given) {
  throw CheckError(fmt::format(
      "the buffer function of '{}' returned room for {} elements where {} arrive: it must "
      "return a span of exactly that size",
      name, given, wanted));
}

void submit_delivered(TeamCore& core, std::string name, int priority, Function<void()> function) {
  auto task = sched::make_function_task(core, std::move(name), std::move(function));
  task->priority = priority;
  task->kind = sched::TaskKind::delivered;
  core.scheduler().submit(std::move(task));
}

}  // namespace shoal::team
