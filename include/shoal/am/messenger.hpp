#pragma once
// Progress of one rank: the messages that arrive, of all teams.

#include <shoal/am/channel.hpp>
#include <shoal/am/handler.hpp>
#include <shoal/am/removals.hpp>
#include <shoal/base/function.hpp>
#include <shoal/env/sparse_array.hpp>
#include <shoal/net/transport.hpp>
#include <shoal/sched/scheduler.hpp>
#include <shoal/sync/mutex.hpp>
#include <shoal/sync/strand.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::messaging {

class EarlyMessages;

/// Completion detection.
class IdleListener {
 public:
  /// Called when a worker of the rank runs out of work; true if that gave rise to something.
  virtual bool on_idle() = 0;
  /// Called now and then by workers that are busy, while the rank has teams beside the world.
  virtual bool on_busy() = 0;
  /// Messages of a team that does not exist here yet have come from `source`, the first ones or the
  /// first ones since drop_early().
  virtual void on_unknown_team(std::uint64_t team, Rank source) = 0;

 protected:
  ~IdleListener() = default;
};

struct MessengerOptions {
  Rank rank;
  bool polls_transport = false;  // workers of this rank poll the transport
  int only_poller = -1;          // if >= 0: only this worker may, being the process's main thread
  bool check_payloads = false;   // sent by this rank to other processes, with a checksum
  bool may_linger = false;       // senders run on other CPUs meanwhile: see before_take()
};

/// Told of an error that cannot be reported in an orderly way; does not return.
using FatalHandler = Function<void(const std::string& text)>;

class Messenger final : public sched::Progress, public net::Receiver, public net::PortWaker {
 public:
  Messenger(net::Fabric& fabric, sched::Scheduler& scheduler, const MessengerOptions& options,
            FatalHandler fatal);
  ~Messenger();

  // --- set up, before the first step
  void set_idle_listener(IdleListener& listener) { idle_listener_ = &listener; }
  void set_context(void* context) { context_ = context; }
  /// What the handlers of the messages between reports find with watch(); outlives the workers.
  void set_watch(void* watch) { watch_ = watch; }

  [[nodiscard]] Rank rank() const { return options_.rank; }
  [[nodiscard]] int size() const { return size_; }
  /// Object that handlers get which take the world.
  [[nodiscard]] void* context() const { return context_; }
  [[nodiscard]] void* watch() const { return watch_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scheduler_; }
  /// Channel of the world; made before the first step.
  [[nodiscard]] Channel& world() const { return *world_; }
  [[nodiscard]] net::Fabric& fabric() const { return fabric_; }
  [[nodiscard]] bool checks_payloads() const { return options_.check_payloads; }
  [[nodiscard]] bool is_local(Rank rank) const { return fabric_.layout().is_local(rank); }

  // --- teams. Any thread.

  /// The rank has teams, whose completion is looked for while their rank is busy with others.
  void set_has_teams(bool has_teams) { has_teams_.store(has_teams, std::memory_order_relaxed); }
  /// The first channel is the world's; see Channel. A channel is removed when its team is complete
  /// on this rank. Messages that came for it before it was there are handled after this.
  /// **Errors**: CheckError when the rank has a team with this id.
  void add_channel(Channel& channel);
  void remove_channel(Channel& channel);
  /// nullptr: this rank has no such team (yet).
  [[nodiscard]] Channel* find_channel(std::uint64_t team) const;

  // --- sending. Any thread.

  net::Link& link_to(Rank target, net::Lane lane);
  /// Hands what was sent so far to the transport, unless another worker is just doing that.
  void flush() { static_cast<void>(poll_transport(nullptr)); }
  /// An uncounted message on the control lane, to a static handler. Never blocks.
  void send_control(const StaticHandler& handler, Rank target, std::span<const std::byte> bytes);
  /// Index of the worker whose handlers' messages the transport looks for next; else negative.
  [[nodiscard]] const std::atomic<int>& polls_next() const { return polls_next_; }

  // --- handlers

  /// Handlers were opened, or a channel was added: messages that wait are tried again.
  void retry_if_early();
  /// Ends a handler that was taken out of its table, once it is not in use.
  void remove(const std::shared_ptr<Handler>& handler) { removals_.add(handler); }

  // --- progress (sched::Progress)
  bool poll(bool idle) override;
  [[nodiscard]] bool looks_busy() const override;
  [[nodiscard]] bool must_poll(WorkerId worker) const override;
  [[nodiscard]] bool is_streaming() const override;
  bool on_idle() override;
  /// Some worker is in the middle of what arrived.
  [[nodiscard]] bool is_handling() const { return polling_.load(std::memory_order_seq_cst); }
  void wake_for_progress() override {
    raise_arrived();
    scheduler_.wake_one();
  }
  /// Runs f() as a handler of this rank: one at a time. It comes after those that published
  /// `token`, and after what was made before the handlers were opened.
  template <class F>
  [[gnu::always_inline]] void run_as_handler(const void* token, F f) {
    handlers_.run([this, token, f] {
      sync::observe(this);
      sync::observe(token);
      f();
    });
    if (sync::watches_strands()) name_handlers();
  }
  void on_packet(net::Packet* packet) override;
  void before_take(const net::Link& link) override;

  /// Messages that wait because their instance handler is not open here yet, or their team does
  /// not exist here yet; large ones twice. For detection they count as processed and as
  /// unsatisfied.
  [[nodiscard]] std::uint64_t held_count() const;
  /// The same, of one team.
  [[nodiscard]] std::uint64_t held_count(std::uint64_t team) const;
  /// Called before a snapshot of counts. False: messages that wait are about to be tried again
  /// (they are then neither processed nor stuck). Their senders' windows open: nothing here will
  /// take the messages soon, and a sender that waited for room would keep the world from noticing
  /// that it is stuck. Caller: the rank is idle.
  [[nodiscard]] bool held_rests();
  /// Ends the process with this text, after an error that cannot be told in an orderly way.
  void end_at_once(const std::string& text) { fatal_(text); }
  /// The team has failed on `source`, and if it does not exist here by now, its messages from there
  /// are dropped. Returns how many. Caller: a handler.
  [[nodiscard]] std::uint64_t drop_early(std::uint64_t team, Rank source);
  /// A scope has failed: lets progress drop what is held back for it. Any thread.
  void drop_held();
  /// Lines about messages of a team that wait, one for each source. Those of teams that do not
  /// exist here are the world's.
  [[nodiscard]] std::vector<std::string> describe_held(std::uint64_t team) const;

  /// Messages that have arrived from one rank, for reports.
  struct Arrivals {
    Rank source;
    std::uint64_t message_count = 0;  // handled, or made into tasks
    std::uint32_t last_handler = 0;   // of the last one, as MessageHeader::handler
  };
  /// The arrivals from each rank that has sent a message. Any thread.
  [[nodiscard]] std::vector<Arrivals> arrivals() const;
  /// What reports call a handler, from MessageHeader::handler. Any thread.
  [[nodiscard]] std::string handler_name(std::uint32_t handler) const;
  /// Names of the handlers of the messages in a packet for this rank: "send", or "5 x send" for a
  /// run of equal ones.
  [[nodiscard]] std::vector<std::string> handler_names(const net::Packet& packet) const;

  struct Statistics {
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t bytes_sent = 0;
  };
  [[nodiscard]] Statistics statistics() const;
  /// Counts payload bytes that travel beside messages.
  void note_payload(std::size_t bytes) {
    // relaxed: a statistic
    payload_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  class MessageTask;
  struct Teams;
  /// An instance handler that was looked up.
  struct Kept {
    const Channel* channel = nullptr;
    std::uint32_t index = 0;
    const Handler* handler = nullptr;
  };
  /// The progress context writes; reports read: staleness is harmless.
  struct ArrivalCounter {
    std::atomic<std::uint64_t> message_count{0};
    std::atomic<std::uint32_t> last_handler{0};
  };

  static constexpr int kNobody = -1;
  static constexpr int kLeanTakesMax = 8;
  static constexpr std::uint64_t kManyMessages = 256;  // worth a take
  void name_handlers();
  void note_take(std::uint64_t message_count);
  bool handle_arrivals(net::DirectArrivals& direct);
  bool take_from_port();
  [[nodiscard]] bool has_no_arrivals() const;
  [[nodiscard]] bool may_poll_transport() const;
  bool poll_transport(net::DirectArrivals* direct);
  /// Runs the messages of a packet from `offset` on. False: held back at the new `offset`. The
  /// packet may be replaced by a smaller copy.
  bool process(net::Packet*& packet, std::size_t& offset);
  void read_run(net::Packet& packet, std::size_t& offset, net::Run& run) const;
  struct Reception;
  bool process_run(Reception& reception, std::size_t& offset);
  bool change_channel(Reception& reception);
  bool dispatch(Reception& reception);
  void refuse(Reception& reception);
  void submit_task(Reception& reception);
  bool find(Reception& reception);
  bool find_instance(Reception& reception);
  [[nodiscard]] Kept& kept(std::uint32_t index) { return kept_[index % kept_.size()]; }
  void forget_removed();
  void run_inline(Reception& reception);
  void fail(const Reception& reception);
  [[nodiscard]] std::uint64_t unprocessed_from(net::Packet* packet, std::size_t offset) const;
  void take(net::Packet* packet);
  void hold(net::Packet* packet, std::size_t offset);
  void retry_held();
  [[nodiscard]] bool can_handle(const net::Run& run) const;
  std::uint64_t drop(net::Packet& packet, std::size_t offset);
  [[nodiscard]] bool is_mixed(net::Packet& packet, std::size_t offset) const;
  [[nodiscard]] net::PacketList part(net::Packet* packet, std::size_t offset) const;

  net::Fabric& fabric_;
  sched::Scheduler& scheduler_;
  const MessengerOptions options_;
  const FatalHandler fatal_;
  const int size_;
  net::Port& port_;
  const std::atomic<net::Link*>* const links_;  // of this rank: Fabric::links_of()
  Channel* world_ = nullptr;
  const std::unique_ptr<Teams> teams_;  // all others
  IdleListener* idle_listener_ = nullptr;
  std::atomic<bool> has_teams_{false};  // relaxed: a hint
  void* context_ = nullptr;
  void* watch_ = nullptr;
  const std::vector<Handler>& statics_;

  // The worker that runs handlers and lets the transport look for what they send next; else none.
  std::atomic<int> polls_next_{kNobody};
  // Held by the one worker that runs the rank's progress. seq_cst: see poll(). Idle workers write
  // it, senders read what stands before.
  alignas(64) std::atomic<bool> polling_{false};
  // The progress context's.
  std::uint64_t processed_ = 0;  // messages
  int lean_takes_ = 0;           // in a row; see before_take()
  std::uint64_t sent_before_ = 0;

  std::atomic<bool> instances_grew_{false};  // the open ones, since held messages were last retried

  // Those that were needed last: one look under the lock for many messages. The progress context's.
  std::array<Kept, 8> kept_;
  Removals removals_;  // of instances
  sync::Strand handlers_;

  const std::unique_ptr<EarlyMessages> early_;

  env::SparseArray<ArrivalCounter> arrivals_;  // by source

  std::atomic<std::uint64_t> payload_bytes_{0};  // that travelled beside messages
};

}  // namespace shoal::messaging
