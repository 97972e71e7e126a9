#include "team/rank_progress.hpp"

#include <shoal/detail/team/core.hpp>
#include <shoal/detail/trace/probes.hpp>

#include "sync/pause.hpp"
#include "team/core_state.hpp"

#include <exception>
#include <utility>

namespace shoal::team {

// NOLINTNEXTLINE(readability-function-size): the other parts of the rank
RankProgress::RankProgress(net::Fabric& fabric, sched::Scheduler& scheduler,
                           const MessengerOptions& options, const FatalHandler& fatal,
                           const ChannelTable& channels, Receiver& receiver,
                           UnexpectedMessages& unexpected)
    : fabric_(fabric),
      scheduler_(scheduler),
      options_(options),
      fatal_(fatal),
      channels_(channels),
      receiver_(receiver),
      unexpected_(unexpected),
      port_(fabric.port(options.rank)) {
  port_.set_waker(this);
  scheduler_.set_progress(*this);
}

RankProgress::~RankProgress() { port_.set_waker(nullptr); }

void RankProgress::begin_attempts() { channels_.world().begin_attempts(); }

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
  CoreState& world = CoreState::of(channels_.world());
  if (take_errors(world)) scheduler_.look_again();
  if (!idle && has_teams_.load(std::memory_order_relaxed)) poll_nested(world);
}

bool RankProgress::on_idle() { return poll_idle(CoreState::of(channels_.world())); }

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
  const std::uint64_t sent = channels_.world().counts.queued_so_far();
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
