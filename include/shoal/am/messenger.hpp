#pragma once
// One rank's messages: sending, arrival, handler tables. Not a template; the typed calls are thin.

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

/// Asked when a worker of the rank has nothing to do: completion detection.
class IdleListener {
 public:
  virtual bool on_idle() = 0;

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
  void set_scope(sched::TaskScope& scope) { scope_ = &scope; }
  void set_idle_listener(IdleListener& listener) { idle_listener_ = &listener; }
  void set_context(void* context) { context_ = context; }
  /// What the handlers of the messages between reports find with watch(); outlives the workers.
  void set_watch(void* watch) { watch_ = watch; }

  [[nodiscard]] Rank rank() const { return options_.rank; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] void* context() const { return context_; }
  [[nodiscard]] void* watch() const { return watch_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] sched::TaskScope& scope() const { return *scope_; }
  [[nodiscard]] net::Fabric& fabric() const { return fabric_; }
  [[nodiscard]] bool checks_payloads() const { return options_.check_payloads; }
  [[nodiscard]] bool is_local(Rank rank) const { return fabric_.layout().is_local(rank); }

  // --- sending. Any thread.

  /// The link to `target` after waiting, if the caller may be suspended, until it has room.
  net::Link& admit(Rank target) {
    if (target >= 0 && target < size_) [[likely]] {
      // acquire pairs with the release in Fabric::make_link()
      net::Link* const link = links_[net::Fabric::link_index(target, net::Lane::normal)].load(
          std::memory_order_acquire);
      // relaxed: see admit_slowly()
      if (link != nullptr && link->has_room() && link->message_count() % kSendsPerLook != 0 &&
          all_open_.load(std::memory_order_relaxed)) {
        return *link;
      }
    }
    return admit_slowly(target);
  }
  /// Appends a counted message; see Link::append for `write`.
  template <class Write>
  void append(net::Link& link, const net::MessageHeader& header, std::size_t extra_bytes,
              Write&& write) {
    const int slot = scheduler_.count_slot();
    scope_->count_queued(slot);
    bool closed = false;
    try {
      // relaxed: what this thread has written
      closed = link.append(header, extra_bytes, std::forward<Write>(write),
                           slot == polls_next_.load(std::memory_order_relaxed));
    } catch (...) {  // no memory for it: it is neither queued nor to be processed
      scope_->count_processed(slot);
      throw;
    }
    // Its receiver is at work while this one fills the next packet.
    if (closed && !is_local(link.target())) [[unlikely]]
      flush();
  }
  void append_bytes(net::Link& link, const net::MessageHeader& header,
                    std::span<const std::byte> bytes);
  void append_object(net::Link& link, net::MessageHeader header, std::size_t extra_bytes,
                     std::unique_ptr<ObjectMessage> object);
  /// Hands what was sent so far to the transport, unless another worker is just doing that.
  void flush() { static_cast<void>(poll_transport(nullptr)); }
  /// An uncounted message on the control lane, to a static handler. Never blocks.
  void send_control(const StaticHandler& handler, Rank target, std::span<const std::byte> bytes);

  // --- instance handlers

  /// Index of the new handler: the number of those made before it. Main function or tasks.
  /// Without a name it gets one from its index. One made by the main function is closed, as if it
  /// did not exist yet, until the next open_instances(): it may refer to what is still to be set
  /// up.
  std::uint32_t add_instance(std::shared_ptr<Handler> handler, const std::string& name,
                             std::string_view spelled);
  void open_instances();
  /// Messages for it that are handled after this are errors; a handler that runs goes on.
  void remove_instance(std::uint32_t index);

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

  /// Messages held back because their instance handler is not open here yet, large ones twice.
  /// For detection, a held message counts as processed and as unsatisfied.
  [[nodiscard]] std::uint64_t held_count() const {
    return held_count_.load(std::memory_order_acquire);
  }
  /// The same for a snapshot of the counts; nothing while held messages are about to be tried again
  /// (they are then neither processed nor stuck). Their senders' windows open: nothing here will
  /// take the messages soon, and a sender that waited for room would keep the world from noticing
  /// that it is stuck. Caller: the rank is idle.
  [[nodiscard]] std::optional<std::uint64_t> held_at_rest();
  /// Ends the process with this text, after an error that cannot be told in an orderly way.
  void end_at_once(const std::string& text) { fatal_(text); }
  /// The scope has failed: lets progress drop what is held back. Any thread.
  void drop_held();
  /// One line per source whose messages are held back.
  [[nodiscard]] std::vector<std::string> describe_held() const;

  /// What has come from another rank, for reports.
  struct Arrivals {
    Rank source;
    std::uint64_t message_count = 0;  // handled, or made into tasks
    std::uint32_t last_handler = 0;   // of the last one, as MessageHeader::handler
  };
  /// Of all that something came from. Any thread.
  [[nodiscard]] std::vector<Arrivals> arrivals() const;
  /// What reports call a handler, from MessageHeader::handler. Any thread.
  [[nodiscard]] std::string handler_name(std::uint32_t handler) const;
  /// Of the messages in a packet for this rank, "send" or "5 x send" for each run of equal ones.
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
  struct Held;
  struct HeldMessages;
  /// An instance handler that was looked up.
  struct Kept {
    std::uint32_t index = 0;
    const Handler* handler = nullptr;
  };
  /// The progress context writes; reports read: staleness is harmless.
  struct ArrivalCounter {
    std::atomic<std::uint64_t> message_count{0};
    std::atomic<std::uint32_t> last_handler{0};
  };

  static constexpr int kNobody = -1;
  static constexpr std::uint64_t kSendsPerLook = 64;
  static constexpr int kLeanTakesMax = 8;
  static constexpr std::uint64_t kManyMessages = 256;  // worth a take
  net::Link& admit_slowly(Rank target);
  net::Link& link_to(Rank target, net::Lane lane);
  void name_handlers();
  void give_way(const net::Link& link);
  void note_take(std::uint64_t message_count);
  bool handle_arrivals(net::DirectArrivals& direct);
  bool take_from_port();
  [[nodiscard]] bool has_no_arrivals() const;
  [[nodiscard]] bool may_poll_transport() const;
  bool poll_transport(net::DirectArrivals* direct);
  /// Runs the messages of a packet from `offset` on. False: held back at the new `offset`. The
  /// packet may be replaced by a smaller copy.
  bool process(net::Packet*& packet, std::size_t& offset);
  void read_run(net::Packet& packet, std::size_t& offset, net::RunHeader& run) const;
  struct Reception;
  bool process_run(Reception& reception, std::size_t& offset);
  bool dispatch(Reception& reception);
  void refuse(Reception& reception);
  void submit_task(Reception& reception);
  bool find(Reception& reception);
  bool find_instance(Reception& reception);
  [[nodiscard]] Kept& kept(std::uint32_t handler) {
    return kept_[(handler & kIndexMask) % kept_.size()];
  }
  void forget_removed();
  void run_inline(Reception& reception);
  void fail(const Handler& handler);
  [[nodiscard]] std::uint64_t unprocessed_from(net::Packet* packet, std::size_t offset) const;
  void hold(net::Packet* packet, std::size_t offset);
  void retry_held();
  [[nodiscard]] bool is_open(std::uint32_t index);
  void retry_if_held();

  net::Fabric& fabric_;
  sched::Scheduler& scheduler_;
  const MessengerOptions options_;
  const FatalHandler fatal_;
  const int size_;
  net::Port& port_;
  const std::atomic<net::Link*>* const links_;  // of this rank: Fabric::links_of()
  sched::TaskScope* scope_ = nullptr;
  IdleListener* idle_listener_ = nullptr;
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

  mutable sync::Mutex instances_mutex_;
  std::vector<std::shared_ptr<Handler>> instances_ SHOAL_GUARDED_BY(instances_mutex_);
  std::size_t open_count_ SHOAL_GUARDED_BY(instances_mutex_) = 0;  // of the first instances
  // Written under instances_mutex_. relaxed: the main function reads what it wrote itself.
  std::atomic<bool> all_open_{true};
  std::atomic<bool> instances_grew_{false};  // the open ones, since held messages were last retried

  // Those that were needed last: one look under the lock for many messages. The progress context's.
  std::array<Kept, 8> kept_;
  Removals removals_;  // of instances
  sync::Strand handlers_;

  mutable sync::Mutex held_mutex_;
  const std::unique_ptr<HeldMessages> held_ SHOAL_PT_GUARDED_BY(held_mutex_);
  std::atomic<std::uint64_t> held_count_{0};

  env::SparseArray<ArrivalCounter> arrivals_;  // by source

  std::atomic<std::uint64_t> payload_bytes_{0};  // that travelled beside messages
};

}  // namespace shoal::messaging
