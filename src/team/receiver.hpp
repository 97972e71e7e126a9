#pragma once
// The receiver of a rank: from packets to handlers.

#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/rank.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "team/arrivals.hpp"
#include "team/deferred_reclaim.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::team {

struct Reception;

/// Cache of the instance handlers used last: one look-up under the lock of their table serves many
/// messages. **Caller**: the worker that handles packets, except for remove().
class HandlerCache {
 public:
  /// Finds the instance handler of the current message; returns false if it is not open yet. The
  /// handler in `reception` becomes nullptr if it was removed.
  [[nodiscard]] bool find(Reception& reception);
  /// Destroys handlers that were removed: results of earlier look-ups must not be used afterwards.
  void forget_removed();
  [[nodiscard]] DeferredReclaim& removed() { return removed_; }
  /// Destroys a handler that was removed from its table, once it is not in use. **Caller**: any
  /// thread.
  void remove(const std::shared_ptr<Handler>& handler) { removed_.add(handler); }

 private:
  struct CachedHandler {
    const TeamCore* channel = nullptr;
    std::uint32_t index = 0;
    const Handler* handler = nullptr;
  };

  std::array<CachedHandler, 8> cached_;
  DeferredReclaim removed_;
};

/// Runs the handlers of a rank one at a time. **Caller**: the worker that handles packets.
class HandlerStrand {
 public:
  /// `opened`: token that is published when handlers are opened.
  HandlerStrand(Rank rank, const void* opened) : rank_(rank), opened_(opened) {}

  /// Runs f() as a handler of this rank, of a message of `channel`. It is ordered after the
  /// publication of `token`, and after everything before the opening of the handlers.
  template <class F>
  [[gnu::always_inline]] void run(const void* token, const TeamCore& channel, F f) {
    if (sync::watches_strands() && !strand_.is_made()) set_name();
    strand_.run([opened = opened_, token, ends = &channel, f] {
      sync::observe(opened);
      sync::observe(token);
      f();
      ends->publish_end();
    });
  }

 private:
  void set_name();

  const Rank rank_;
  const void* const opened_;
  sync::Strand strand_;
};

/// Task that runs the handler of a message. It keeps the packet, whose bytes count in the sender's
/// window.
class MessageTask final : public sched::Task {
 public:
  MessageTask(std::shared_ptr<const Handler> instance, const Handler& handler, net::Packet* packet,
              const Message& message)
      : instance_(std::move(instance)), handler_(handler), packet_(packet), message_(message) {
    scope = message.channel;
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
  // The sender's window must not depend on the waits of this task.
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

/// State of the packet that the worker which runs the progress handles.
struct Reception {
  /// `removals`: of handlers; see Batch.
  Reception(TeamCore& world, const std::atomic<std::uint32_t>& removals, net::Packet*& taken)
      : packet(taken),
        control(taken->header().lane == static_cast<std::uint32_t>(net::Lane::control)),
        channel(&world),
        batch(*channel, Rank(taken->header().source), watch, packet),
        mark(!control),
        watch{channel, removals, mark} {
    batch.message().prefix = &run.prefix;
  }
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  /// Messages of other channels than the last one that were processed.
  struct Tally {
    TeamCore* channel;
    std::uint64_t count;
  };

  net::Packet*& packet;
  const bool control;
  net::Run run;
  TeamCore* channel;  // of the last run
  Batch batch;        // of the run
  sched::HandlerMark mark;
  Batch::Watch watch;
  const Handler* handler = nullptr;  // of the last run, if handler_id says which; else nullptr
  std::uint32_t handler_id = 0;
  std::uint64_t count = 0;  // of messages of `channel` that were processed
  std::vector<Tally> others;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> outside;  // senders' teams, and messages
  std::uint64_t first_id = 0;  // of the packet's first message, in traces; 0: not known
  std::uint64_t skipped = 0;   // messages of the packet that were processed earlier

  /// Id of the current message in traces.
  [[nodiscard]] std::uint64_t trace_id() const {
    if (first_id == 0) return 0;
    std::uint64_t before = skipped + count + (run.count - batch.left());
    for (const Tally& other : others) before += other.count;
    return first_id + before;
  }
  /// Notifies observers and the recording of handlers that begin from now on.
  void begin_handlers() {
    mark.show(handler->name);
    if (mark.is_watched()) [[unlikely]]
      mark.number_from(trace_id());
  }
};

/// Used by one thread at a time, which runs the rank's progress; except handlers().remove().
class Receiver final {
 public:
  /// `token`: published by the code that opens handlers.
  Receiver(Rank rank, const void* token, sched::Scheduler& scheduler, const ChannelTable& channels,
           const PacketReader& reader, UnexpectedMessages& unexpected, ArrivalCounts& arrivals);

  /// Handles the messages of `packet`, and takes over the reference to it. Packets of one lane from
  /// one source arrive in order.
  void on_packet(net::Packet* packet);
  /// Handles the messages that wait, as far as they can be handled now.
  void retry_unexpected();
  /// Returns the number of messages processed so far.
  [[nodiscard]] std::uint64_t processed() const { return processed_; }

  [[nodiscard]] HandlerCache& handlers() { return handlers_; }
  [[nodiscard]] HandlerStrand& strand() { return strand_; }

 private:
  void take_in_order(net::Packet* packet);
  void take_or_keep(PacketPart part);
  void take_or_keep_stream(PacketPart part);
  bool forward_all(const Stream& stream, const PacketPart& part) const;
  void note_received(const net::Packet& packet) const;
  void number(Reception& reception, std::size_t offset) const;
  bool process(PacketPart& part, std::size_t end);
  bool process(net::Packet*& packet, std::size_t& offset, std::size_t end);
  void count(const Reception& reception, int slot);
  void acknowledge(const Reception& reception);
  bool process_run(Reception& reception, std::size_t& offset);
  bool change_channel(Reception& reception);
  void set_channel(Reception& reception, TeamCore& channel);
  bool take_late(Reception& reception, std::size_t& offset);
  bool dispatch(Reception& reception);
  void deliver_multicast(Reception& reception);
  bool find(Reception& reception);
  void submit_task(Reception& reception);
  void make_task(const Reception& reception, const Message& message);
  void run_inline(Reception& reception);

  const Rank rank_;
  sched::Scheduler& scheduler_;
  const ChannelTable& channels_;
  const PacketReader& reader_;
  UnexpectedMessages& unexpected_;
  ArrivalCounts& arrivals_;
  const std::vector<Handler>& statics_;
  std::uint64_t processed_ = 0;
  HandlerCache handlers_;
  HandlerStrand strand_;
};

}  // namespace shoal::team
