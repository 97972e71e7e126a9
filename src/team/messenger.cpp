#include "team/messenger.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/trace/probes.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "sync/pause.hpp"
#include "team/arrivals.hpp"
#include "team/core_state.hpp"
#include "team/receiver.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::team {

/// Progress of a rank: one worker at a time polls the transport and drains the port.
class RankProgress final : public sched::Progress, public net::PortWaker {
 public:
  RankProgress(net::Fabric& fabric, sched::Scheduler& scheduler, const MessengerOptions& options,
               const FatalHandler& fatal, const CoreTable& cores, Receiver& receiver,
               UnexpectedMessages& unexpected);
  ~RankProgress();
  RankProgress(const RankProgress&) = delete;
  RankProgress& operator=(const RankProgress&) = delete;

  /// Sets whether the completion of teams is tested while the rank is busy.
  void set_has_teams(bool has_teams) {
    has_teams_.store(has_teams, std::memory_order_relaxed);
    if (has_teams) ask_teams();
  }

  bool poll(bool idle) override;
  [[nodiscard]] bool looks_busy() const override;
  [[nodiscard]] bool must_poll(WorkerId worker) const override;
  [[nodiscard]] bool is_streaming() const override;
  bool on_idle() override;
  void begin_attempts() override;
  void wake_for_progress() override {
    raise_arrived();
    scheduler_.wake_one();
  }
  /// Returns whether no worker handles arrivals. If one does, the workers look at the teams once
  /// more when it has ended. **Caller**: any worker.
  [[nodiscard]] bool rests();
  /// Returns whether a worker is handling arrivals.
  [[nodiscard]] bool is_handling() const { return polling_.load(std::memory_order_seq_cst); }
  /// Hands the messages sent so far to the transport, unless another worker does so.
  void flush() { static_cast<void>(poll_transport(nullptr)); }
  /// See Messenger::polls_next().
  [[nodiscard]] const std::atomic<int>& polls_next() const { return polls_next_; }

 private:
  static constexpr int kNobody = -1;
  static constexpr int kSmallBatchesMax = 8;
  static constexpr std::uint64_t kManyMessages = 256;  // worth a batch

  void look_at_teams(bool idle);
  bool handle_arrivals(net::DirectArrivals& direct);
  bool drain_port();
  void wait_for_batch(const net::Link& link) const;
  void note_batch(std::uint64_t message_count);
  [[nodiscard]] bool has_no_arrivals() const;
  [[nodiscard]] bool must_open_windows() const;
  [[nodiscard]] bool may_poll_transport() const;
  bool poll_transport(net::DirectArrivals* direct);

  net::Fabric& fabric_;
  sched::Scheduler& scheduler_;
  const MessengerOptions& options_;
  const FatalHandler& fatal_;
  const CoreTable& cores_;
  Receiver& receiver_;
  UnexpectedMessages& unexpected_;
  net::Port& port_;
  std::atomic<bool> has_teams_{false};  // relaxed: a hint

  // The worker that runs handlers and lets the transport look for what they send next; else none.
  std::atomic<int> polls_next_{kNobody};
  // Held by the one worker that runs the rank's progress. seq_cst: see poll(). Idle workers write
  // it, senders read the former value.
  alignas(64) std::atomic<bool> polling_{false};
  std::atomic<bool> is_awaited_{false};  // see rests()
  // The progress context's.
  int small_batches_ = 0;  // in a row; see wait_for_batch()
  std::uint64_t sent_before_ = 0;
};

Messenger::Messenger(net::Fabric& fabric, sched::Scheduler& scheduler,
                     const MessengerOptions& options, FatalHandler fatal)
    : fabric_(fabric),
      scheduler_(scheduler),
      options_(options),
      fatal_(std::move(fatal)),
      reader_(std::make_unique<PacketReader>(fatal_)),
      arrivals_(std::make_unique<ArrivalCounts>(size())),
      unexpected_(std::make_unique<UnexpectedMessages>(cores_, *reader_)),
      receiver_(std::make_unique<Receiver>(options_.rank, this, scheduler, cores_, *reader_,
                                           *unexpected_, *arrivals_)),
      progress_(std::make_unique<RankProgress>(fabric, scheduler, options_, fatal_, cores_,
                                               *receiver_, *unexpected_)) {}

Messenger::~Messenger() = default;

// A core that is added is seen by the code that keeps a message for it, or that is seen here:
// UnexpectedMessages looks for the core after the message was counted, under its lock.
void Messenger::add(TeamCore& core) {
  SHOAL_CHECK(cores_.add(core), "rank {} has a team with the id {} already", rank().value(),
              core.id());
  if (core.id() == 0) return;
  sync::publish(this);
  retry_unexpected();
}

void Messenger::remove(TeamCore& core) {
  cores_.remove(core);
  receiver_->handlers().removed().note_removal();
}

void Messenger::retry_unexpected() {
  if (unexpected_->empty()) return;
  unexpected_->request_retry();
  progress_->wake_for_progress();
}

void Messenger::reclaim(const std::shared_ptr<Handler>& handler) {
  receiver_->handlers().remove(handler);
}

void Messenger::await_reclaimed() {
  constexpr int kPauses = 64;
  const DeferredReclaim& removed = receiver_->handlers().removed();
  const std::uint32_t count = removed.count().load(std::memory_order_relaxed);
  for (int i = 1; removed.may_run(count); ++i) {
    sync::pause_briefly();
    if (i % kPauses == 0) scheduler_.env().yield();  // the handler may need this core
  }
}

void Messenger::set_has_teams(bool has_teams) {
  progress_->set_has_teams(has_teams);
  world().set_crosses(has_teams);
}

void Messenger::flush() { progress_->flush(); }

const std::atomic<int>& Messenger::polls_next() const { return progress_->polls_next(); }

bool Messenger::is_handling() const { return progress_->is_handling(); }

bool Messenger::rests() { return progress_->rests(); }

bool Messenger::looks_busy() const { return progress_->looks_busy(); }

bool CoreTable::add(TeamCore& core) {
  if (world_ == nullptr) {
    world_ = &core;
    return true;
  }
  const Entry entry{&core, TeamCore::of(*core.outer()).id()};
  const sync::Lock lock(mutex_);
  Entry* const known = entries_.find(core.id());
  if (known == nullptr) {
    entries_.insert(core.id(), entry);
  } else if (known->core == nullptr) {
    *known = entry;
  } else {
    return false;
  }
  return true;
}

void CoreTable::remove(const TeamCore& core) {
  const sync::Lock lock(mutex_);
  Entry* const entry = entries_.find(core.id());
  if (entry == nullptr || entry->core != &core) return;
  entry->core = nullptr;
  if (ended_.size() < kEndedMax) {
    ended_.push_back(core.id());
  } else {
    const std::uint64_t oldest = std::exchange(ended_[oldest_ended_], core.id());
    oldest_ended_ = (oldest_ended_ + 1) % kEndedMax;
    const Entry* const entry_of_oldest = entries_.find(oldest);
    if (entry_of_oldest != nullptr && entry_of_oldest->core == nullptr) entries_.erase(oldest);
  }
}

TeamCore* CoreTable::find(std::uint64_t team) const {
  if (team == 0) return world_;
  if ((team & kAboutBit) != 0) {
    team ^= kAboutBit;
    return find(team) != nullptr || around_ended(team) != nullptr ? world_ : nullptr;
  }
  const sync::Lock lock(mutex_);
  const Entry* const entry = entries_.find(team);
  return entry != nullptr ? entry->core : nullptr;
}

TeamCore* CoreTable::around_ended(std::uint64_t team) const {
  const sync::Lock lock(mutex_);
  const Entry* entry = entries_.find(team);
  if (entry == nullptr || entry->core != nullptr) return nullptr;
  while (entry != nullptr && entry->core == nullptr) entry = entries_.find(entry->around);
  return entry != nullptr ? entry->core : world_;
}

// NOLINTNEXTLINE(readability-function-size): the other parts of the rank
RankProgress::RankProgress(net::Fabric& fabric, sched::Scheduler& scheduler,
                           const MessengerOptions& options, const FatalHandler& fatal,
                           const CoreTable& cores, Receiver& receiver,
                           UnexpectedMessages& unexpected)
    : fabric_(fabric),
      scheduler_(scheduler),
      options_(options),
      fatal_(fatal),
      cores_(cores),
      receiver_(receiver),
      unexpected_(unexpected),
      port_(fabric.port(options.rank)) {
  port_.set_waker(this);
  scheduler_.set_progress(*this);
}

RankProgress::~RankProgress() { port_.set_waker(nullptr); }

void RankProgress::begin_attempts() { cores_.world().begin_attempts(); }

// No arrival is missed: a poster changes the port's head and then looks for sleepers; the holder of
// polling_ gives it back and then looks at the head once more. All of these are seq_cst. A worker
// that sleeps while the flag is set relies on that second look. The holder does not continue to
// poll: handlers that send to their own rank for ever must not keep tasks from running.
bool RankProgress::poll(bool idle) {
  constexpr int kIdleLooks = 4;
  if (asks_teams()) [[unlikely]]
    look_at_teams(idle);
  const bool polls_transport = may_poll_transport();
  lower_arrived();  // before the look at the port: a later post() raises it again
  if (!polls_transport && has_no_arrivals()) return false;
  // seq_cst: a worker whose flag is seen looks again after this
  if (polling_.load(std::memory_order_seq_cst) ||
      polling_.exchange(true, std::memory_order_seq_cst)) {
    return poll_transport(nullptr);
  }
  net::DirectArrivals direct{&port_, idle ? kIdleLooks : 1, {}};
  const bool did = poll_transport(&direct);
  lower_arrived();
  const bool took = (!direct.packets.empty() || !has_no_arrivals()) && handle_arrivals(direct);
  polling_.store(false, std::memory_order_seq_cst);
  if (is_awaited_.load(std::memory_order_seq_cst)) [[unlikely]] {
    is_awaited_.store(false, std::memory_order_seq_cst);
    scheduler_.look_again();
  }
  // This is necessary even if nothing was found: other workers may have gone to sleep meanwhile,
  // relying on this look.
  if (!has_no_arrivals()) wake_for_progress();
  // Like a worker that sleeps, worker 0 sees those in windows, or it is seen here and woken.
  if (unexpected_.are_in_windows()) scheduler_.idle_workers().wake(WorkerId(0));
  if (!took) return did;
  // Sends the messages of handlers.
  if (polls_transport && fabric_.transport()->has_unsent()) {
    static_cast<void>(poll_transport(nullptr));
  }
  return true;  // the caller comes back before it sleeps
}

// Either the second look sees that the worker has ended, or that sees the flag.
bool RankProgress::rests() {
  if (!is_handling()) return true;
  is_awaited_.store(true, std::memory_order_seq_cst);
  return !is_handling();
}

// relaxed: a team that is made after this asks again.
[[gnu::noinline]] void RankProgress::look_at_teams(bool idle) {
  if (!has_teams_.load(std::memory_order_relaxed)) {
    lower_asks_teams();
    if (has_teams_.load(std::memory_order_relaxed)) ask_teams();
  }
  CoreState& world = CoreState::of(cores_.world());
  if (take_errors(world)) scheduler_.look_again();
  if (!idle && has_teams_.load(std::memory_order_relaxed)) poll_nested(world);
}

bool RankProgress::on_idle() { return poll_idle(CoreState::of(cores_.world())); }

bool RankProgress::handle_arrivals(net::DirectArrivals& direct) {
  const std::uint64_t processed_before = receiver_.processed();
  trace::progress_begin();
  if (may_poll_transport()) {
    polls_next_.store(scheduler_.count_slot(), std::memory_order_relaxed);
  }
  bool did = !direct.packets.empty();
  if (must_open_windows()) {
    if (unexpected_.wants_retry()) {  // they stay in the window until they are handled
      receiver_.retry_unexpected();
      did = true;
    }
    unexpected_.leave_windows();
  }
  while (net::Packet* packet = direct.packets.pop_front()) receiver_.on_packet(packet);
  if (!port_.looks_empty() && drain_port()) did = true;
  if (did) note_batch(receiver_.processed() - processed_before);
  if (unexpected_.wants_retry()) {
    receiver_.retry_unexpected();
    did = true;
  }
  polls_next_.store(kNobody, std::memory_order_relaxed);
  trace::progress_end(receiver_.processed() - processed_before);
  return did;
}

bool RankProgress::drain_port() {
  constexpr int kItemsMax = 64;  // then tasks have their turn
  bool did = false;
  for (int i = 0; i < kItemsMax; ++i) {
    net::PortItem* const item = port_.try_take();
    if (item == nullptr) break;
    if (small_batches_ >= kSmallBatchesMax) {
      if (const net::Link* const link = item->link(); link != nullptr) wait_for_batch(*link);
    }
    net::PacketList packets = item->take_arrivals();
    while (net::Packet* packet = packets.pop_front()) receiver_.on_packet(packet);
    did = true;
  }
  return did;
}

// Batches streams: if the receiver takes every message singly, both cores contend for the same
// cache lines. After a few takes in a row that brought little, the receiver waits while more
// messages arrive, until they fill a packet or for a few microseconds. Between two takes of a round
// trip this rank sends, which ends the row.
void RankProgress::wait_for_batch(const net::Link& link) const {
  constexpr int kPausesMin = 16;  // between two looks; each look costs the sender a cache line
  constexpr int kPausesMax = 128;
  std::uint64_t seen = 0;
  for (int pauses = kPausesMin; pauses <= kPausesMax; pauses *= 2) {
    const std::uint64_t now = link.message_count();
    if (now == seen || link.has_full_packet()) return;
    seen = now;
    for (int i = 0; i < pauses; ++i) sync::pause_briefly();
  }
}

void RankProgress::note_batch(std::uint64_t message_count) {
  if (!options_.may_linger) return;
  const std::uint64_t sent = cores_.world().counts.queued_so_far();
  const bool in_a_row = std::exchange(sent_before_, sent) == sent;
  const bool lingers = small_batches_ >= kSmallBatchesMax;
  const bool helps = lingers ? message_count > 1 : message_count < kManyMessages;
  if (!in_a_row || !helps) {
    small_batches_ = 0;
  } else if (!lingers) {
    ++small_batches_;
  }
}

// Returns whether the calling thread may poll the transport.
bool RankProgress::may_poll_transport() const {
  if (!options_.polls_transport) return false;
  return options_.only_poller < 0 || scheduler_.count_slot() == options_.only_poller;
}

bool RankProgress::poll_transport(net::DirectArrivals* direct) {
  if (!may_poll_transport()) return false;
  try {
    return fabric_.transport()->poll(options_.only_poller >= 0, direct);
  } catch (const std::exception& error) {
    fatal_(error.what());
    throw;
  }
}

bool RankProgress::has_no_arrivals() const {
  return port_.looks_empty() && !unexpected_.wants_retry() && !must_open_windows();
}

// The main function is bound to worker 0: while that polls, it pauses.
bool RankProgress::must_open_windows() const {
  return unexpected_.are_in_windows() && scheduler_.count_slot() == 0;
}

bool RankProgress::looks_busy() const {
  return !polling_.load(std::memory_order_seq_cst) && !has_no_arrivals();
}

bool RankProgress::must_poll(WorkerId worker) const {
  if (!options_.polls_transport) return false;
  return options_.only_poller < 0 || options_.only_poller == worker;
}

bool RankProgress::is_streaming() const {
  return options_.polls_transport && fabric_.transport()->is_streaming();
}

}  // namespace shoal::team
