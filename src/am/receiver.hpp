#pragma once
// The receiver of a rank: from packets to handlers.

#include <shoal/detail/am/handler.hpp>
#include <shoal/detail/sched/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "am/arrivals.hpp"
#include "am/backlog.hpp"
#include "am/handler_cache.hpp"
#include "am/handler_strand.hpp"

namespace shoal::messaging {

struct Reception;

/// Used by one thread at a time, which runs the rank's progress; except handlers().remove().
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

  [[nodiscard]] HandlerCache& handlers() { return handlers_; }
  [[nodiscard]] HandlerStrand& strand() { return strand_; }

 private:
  void take_in_order(net::Packet* packet);
  void take_or_hold(PacketParts parts);
  PacketPart split_first(PacketParts& parts, FunctionRef<bool(const Stream&)> waits) const;
  bool forward_all(const PacketPart& part) const;
  void note_received(const net::Packet& packet) const;
  void number(Reception& reception, std::size_t offset) const;
  bool process(net::Packet*& packet, std::size_t& offset);
  void count(const Reception& reception, int slot);
  void acknowledge(const Reception& reception);
  bool process_run(Reception& reception, std::size_t& offset);
  bool change_channel(Reception& reception);
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
  Backlog& backlog_;
  ArrivalCounts& arrivals_;
  const std::vector<Handler>& statics_;
  std::uint64_t processed_ = 0;
  HandlerCache handlers_;
  HandlerStrand strand_;
};

}  // namespace shoal::messaging
