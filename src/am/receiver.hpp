#pragma once
// The receiver of a rank: from packets to handlers.

#include <shoal/am/arrivals.hpp>
#include <shoal/am/backlog.hpp>
#include <shoal/am/deferred_reclaim.hpp>
#include <shoal/am/handler.hpp>
#include <shoal/sched/scheduler.hpp>
#include <shoal/sync/strand.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::messaging {

/// Used by one thread at a time, which runs the rank's progress; except remove().
class Receiver final {
 public:
  /// `token`: published by the code that opens handlers.
  Receiver(Rank rank, const void* token, sched::Scheduler& scheduler, const ChannelTable& channels,
           const PacketReader& reader, Backlog& backlog, ArrivalCounts& arrivals);

  /// Takes over the reference to `packet`. Packets of one lane from one source come in order.
  void on_packet(net::Packet* packet);
  /// Handles the messages that wait, as far as they can be handled now.
  void retry_held();
  /// Messages so far.
  [[nodiscard]] std::uint64_t processed() const { return processed_; }

  /// Runs f() as a handler of this rank: one at a time. It is ordered after the publication of
  /// `token`, and after everything before the opening of the handlers.
  template <class F>
  [[gnu::always_inline]] void run_as_handler(const void* token, F f) {
    handlers_.run([opened = token_, token, f] {
      sync::observe(opened);
      sync::observe(token);
      f();
    });
    if (sync::watches_strands()) name_handlers();
  }

  /// Ends a handler that was taken out of its table, once it is not in use. Any thread.
  void remove(const std::shared_ptr<Handler>& handler) { removed_.add(handler); }

 private:
  struct Reception;
  /// An instance handler that was looked up.
  struct Kept {
    const Channel* channel = nullptr;
    std::uint32_t index = 0;
    const Handler* handler = nullptr;
  };

  void name_handlers();
  void take_in_order(net::Packet* packet);
  void take(net::Packet* packet);
  void note_received(const net::Packet& packet) const;
  void number(Reception& reception, std::size_t offset) const;
  void hold(net::Packet* packet, std::size_t offset);
  bool process(net::Packet*& packet, std::size_t& offset);
  void count(const Reception& reception, int slot);
  void acknowledge(const Reception& reception);
  static void note_sender(Reception& reception);
  bool process_run(Reception& reception, std::size_t& offset);
  bool change_channel(Reception& reception);
  bool dispatch(Reception& reception);
  static void forward(Reception& reception, std::size_t offset);
  void deliver_multicast(Reception& reception);
  bool find(Reception& reception);
  bool find_instance(Reception& reception);
  void forget_removed();
  static void refuse(Reception& reception);
  static void keep_packet(Reception& reception);
  void submit_task(Reception& reception);
  void make_task(const Reception& reception, const Message& message);
  void run_inline(Reception& reception);
  static void fail(const Reception& reception);

  const Rank rank_;
  const void* const token_;
  sched::Scheduler& scheduler_;
  const ChannelTable& channels_;
  const PacketReader& reader_;
  Backlog& backlog_;
  ArrivalCounts& arrivals_;
  const std::vector<Handler>& statics_;

  std::uint64_t processed_ = 0;
  std::array<Kept, 8> kept_;  // needed last: one look under the lock for many messages
  DeferredReclaim removed_;   // instance handlers
  sync::Strand handlers_;
};

}  // namespace shoal::messaging
