#pragma once
// The receiving end of one lane from a rank of another process to a rank of this one.

#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <deque>

#include "net/mpi/mpi_submission.hpp"

namespace shoal::net {

class MpiInbox;

/// Holds packets that have arrived until the target's progress takes them, and counts consumed
/// bytes until they are reported to the sender.
class MpiInlet final : public PortItem, public PacketOwner {
 public:
  struct Identity {
    Rank source;
    Rank target;
    Lane lane{};
    int process = 0;  // of the source
  };

  /// Reports amounts from `report_bytes` on to the sender soon, and smaller ones when there is
  /// time.
  MpiInlet(const Identity& identity, std::size_t report_bytes, Port& port, MpiInbox& inbox,
           MpiSubmissions& submissions);
  ~MpiInlet();

  [[nodiscard]] const Identity& identity() const { return identity_; }

  PacketList take_arrivals() override;
  /// Counts consumed bytes. **Caller**: any thread.
  void consumed(std::size_t bytes) override;

  // For the inbox, under the engine's lock.

  [[nodiscard]] std::uint64_t take_sequence() { return next_sequence_++; }
  /// The next packet of the lane has arrived. `direct`: see Transport::poll().
  void add(Packet* packet, DirectArrivals* direct);
  /// The next packet of the lane will arrive, perhaps after others of it.
  void add_incomplete(Packet* packet) { held_.push_back({packet, false}); }
  /// A packet added as incomplete is whole now.
  void complete(Packet* packet);

  [[nodiscard]] bool wants_report() const {
    // relaxed: a hint; take_unreported() reads again.
    return unreported_bytes_.load(std::memory_order_relaxed) >= report_bytes_;
  }
  /// Bytes to report; from now on the next consumed() submits this again.
  [[nodiscard]] std::size_t take_unreported() {
    // acq_rel: pairs with consumed(), so that a later submission follows this one's end.
    return unreported_bytes_.exchange(0, std::memory_order_acq_rel);
  }

 private:
  class Report final : public MpiSubmission {
   public:
    Report(MpiInlet& inlet, MpiInbox& inbox) : inlet_(inlet), inbox_(inbox) {}
    void start() override;

   private:
    MpiInlet& inlet_;
    MpiInbox& inbox_;
  };
  struct Held {
    Packet* packet;
    bool complete;
  };

  void hand_over(Packet* packet, DirectArrivals* direct);

  const Identity identity_;
  const std::size_t report_bytes_;
  Port& port_;
  MpiSubmissions& submissions_;
  Report report_;

  // Guarded by the engine's lock.
  std::uint64_t next_sequence_ = 0;
  std::deque<Held> held_;  // begins with an incomplete packet, or is empty

  // Written by consumers and by the engine. Invariant: not 0 == report_ is submitted or in the
  // inbox's list, except between the two steps of consumed() and of the engine.
  std::atomic<std::size_t> unreported_bytes_{0};

  sync::Mutex mutex_;
  PacketList arrived_ SHOAL_GUARDED_BY(mutex_);
  std::atomic<bool> posted_{false};  // == arrived_ is not empty; written under mutex_
};

}  // namespace shoal::net
