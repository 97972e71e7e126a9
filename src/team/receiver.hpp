#pragma once
// The receiver of a rank: from packets to handlers.

#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/asymmetric_barrier.hpp>
#include <shoal/detail/sync/mutex.hpp>
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
#include "team/unexpected_messages.hpp"

namespace shoal::team {

/// One thread at a time handles packets, with handlers that it need not own: a handler that is
/// removed meanwhile lives until the packet at hand has been handled: epoch-based reclamation,
/// where the handling of a packet is the epoch. Any thread removes.
///
/// The remover keeps the handler in removed_ and counts it (A), and then looks whether a packet is
/// being handled (B); if not, it destroys that handler. The packet's thread announces itself (C),
/// and then reads the count (D) before it uses a handler that it has found earlier; after the
/// packet it announces the end (E), reads the count (F), and destroys all kept handlers. If B does
/// not see C, D sees A: no thread uses the destroyed handler. If B does not see E, F sees A: no
/// kept handler stays. Between A and B is a heavy_barrier(), so that the packet's thread pays
/// nothing; where there is none, all are seq_cst. tests/model/team_deferred_reclaim_test.cpp
/// explores it.
///
/// A remover that has to outlive the handler waits until a later look B does not find C, or until
/// the packet's thread has said, between two handlers, which count it has seen (G): it uses none of
/// the handlers counted there.
class DeferredReclaim {
 public:
  explicit DeferredReclaim(bool asymmetric = sync::has_asymmetric_barrier())
      : asymmetric_(asymmetric) {}

  /// Marks that a packet is handled, during its lifetime. **Caller**: the worker that handles
  /// packets.
  class Handling {
   public:
    explicit Handling(DeferredReclaim& removals) : removals_(removals) { removals_.say(true); }
    ~Handling() { removals_.say(false); }
    Handling(const Handling&) = delete;
    Handling& operator=(const Handling&) = delete;

   private:
    DeferredReclaim& removals_;
  };

  /// Some were removed since the last forget(). **Caller**: the worker that handles packets.
  [[nodiscard]] bool has_news() const {
    return count_.load(std::memory_order_seq_cst) != seen_.load(std::memory_order_relaxed);
  }
  /// Destroys them, after earlier look-ups were forgotten. **Caller**: the worker that handles
  /// packets, between two handlers.
  void forget() {
    std::uint32_t count = 0;
    {
      std::vector<std::shared_ptr<Handler>> removed;  // ends without the lock: handlers own things
      const sync::Lock lock(mutex_);
      count = count_.load(std::memory_order_relaxed);
      removed.swap(removed_);
    }
    seen_.store(count, std::memory_order_release);  // pairs with the acquire in may_run()
  }
  /// **Caller**: the worker that handles packets.
  [[nodiscard]] bool is_handling() const { return handling_.load(std::memory_order_relaxed); }

  /// Defers the destruction of `handler`, which was removed from its table but may be in use. The
  /// caller's reference is the last one on return, unless a packet is being handled. **Cost**:
  /// microseconds.
  void add(const std::shared_ptr<Handler>& handler) {
    {
      const sync::Lock lock(mutex_);
      removed_.push_back(handler);
      count_.fetch_add(1, std::memory_order_seq_cst);
    }
    if (asymmetric_ && !sync::heavy_barrier()) return;  // the next packet brings the end
    if (handling_.load(std::memory_order_seq_cst)) return;
    // No other one: those that came meanwhile may be in use.
    const sync::Lock lock(mutex_);
    std::erase(removed_, handler);
  }
  /// A handler that was counted here may still run. **Caller**: one that has called add() before.
  [[nodiscard]] bool may_run(std::uint32_t removals) const {
    // acquire pairs with the releases in say() and forget(): what the handlers did is seen
    if (!handling_.load(std::memory_order_acquire)) return false;
    return static_cast<std::int32_t>(seen_.load(std::memory_order_acquire) - removals) < 0;
  }
  /// Makes has_news() true, for a core that has ended: what was found by its address is found
  /// anew. One that is made at that address later enters its table after this, where messages find
  /// it.
  void note_removal() { count_.fetch_add(1, std::memory_order_seq_cst); }
  /// Number of removals so far; release pairs with an acquire: a thread that finds no handler sees
  /// the reason.
  [[nodiscard]] const std::atomic<std::uint32_t>& count() const { return count_; }

 private:
  void say(bool handling) {
    if (asymmetric_) {
      handling_.store(handling, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler
    } else {
      handling_.store(handling, std::memory_order_seq_cst);
    }
  }

  const bool asymmetric_;
  std::atomic<bool> handling_{false};   // written by who handles
  std::atomic<std::uint32_t> seen_{0};  // the same
  std::atomic<std::uint32_t> count_{0};
  sync::Mutex mutex_;
  std::vector<std::shared_ptr<Handler>> removed_ SHOAL_GUARDED_BY(mutex_);
};

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
    const TeamCore* core = nullptr;
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

  /// Runs f() as a handler of this rank, of a message of `core`. It is ordered after the
  /// publication of `token`, and after everything before the opening of the handlers.
  template <class F>
  [[gnu::always_inline]] void run(const void* token, const TeamCore& core, F f) {
    if (sync::watches_strands() && !strand_.is_made()) set_name();
    strand_.run([opened = opened_, token, ends = &core, f] {
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
    scope = message.core;
    priority = handler.priority;
    kind = sched::TaskKind::delivered;
    packet_->add_reference();
  }
  ~MessageTask() override {
    if (!ran_) {  // the team failed: only free what the message holds
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
    sync::observe(&message_.core->messenger());
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
        core(&world),
        batch(*core, Rank(taken->header().source), watch, packet),
        mark(!control),
        watch{core, removals, mark} {
    batch.message().prefix = &run.prefix;
  }
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  /// Messages of other cores than the last one that were processed.
  struct Tally {
    TeamCore* core;
    std::uint64_t count;
  };

  net::Packet*& packet;
  const bool control;
  net::Run run;
  TeamCore* core;  // of the last run
  Batch batch;     // of the run
  sched::HandlerMark mark;
  Batch::Watch watch;
  const Handler* handler = nullptr;  // of the last run, if handler_id says which; else nullptr
  std::uint32_t handler_id = 0;
  std::uint64_t count = 0;  // of messages of `core` that were processed
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
  Receiver(Rank rank, const void* token, sched::Scheduler& scheduler, const CoreTable& cores,
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
  bool change_core(Reception& reception);
  void set_core(Reception& reception, TeamCore& core);
  bool take_late(Reception& reception, std::size_t& offset);
  bool dispatch(Reception& reception);
  void deliver_multicast(Reception& reception);
  bool find(Reception& reception);
  void submit_task(Reception& reception);
  void make_task(const Reception& reception, const Message& message);
  void run_inline(Reception& reception);

  const Rank rank_;
  sched::Scheduler& scheduler_;
  const CoreTable& cores_;
  const PacketReader& reader_;
  UnexpectedMessages& unexpected_;
  ArrivalCounts& arrivals_;
  const std::vector<Handler>& statics_;
  std::uint64_t processed_ = 0;
  HandlerCache handlers_;
  HandlerStrand strand_;
};

}  // namespace shoal::team
