#pragma once
// Progress of a rank: one worker at a time polls the transport and drains the port.

#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/scheduler.hpp>

#include <atomic>
#include <cstdint>

#include "team/messenger.hpp"
#include "team/receiver.hpp"

namespace shoal::team {

class RankProgress final : public sched::Progress, public net::PortWaker {
 public:
  RankProgress(net::Fabric& fabric, sched::Scheduler& scheduler, const MessengerOptions& options,
               const FatalHandler& fatal, const ChannelTable& channels, Receiver& receiver,
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
  const ChannelTable& channels_;
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

}  // namespace shoal::team
