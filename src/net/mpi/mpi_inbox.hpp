#pragma once
// Receives packets, checks them, and hands them to the inlets.

#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_outbox.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_wire.hpp"

namespace shoal::net {

class MpiEngine;
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
           MpiEngine& engine);
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
  MpiEngine& engine_;
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

/// Guarded by the engine's lock.
///
/// Order: all packets between two near processes come by one ring; between others they go with one
/// tag, so MPI matches them with receives in the order sent; receives stand in a ring in the order
/// posted, and only the first one is tested, so they are handled in that order too, whichever is
/// complete first.
class MpiInbox {
 public:
  /// Objects that it works with; all outlive it.
  struct Parts {
    MpiTransfers& transfers;
    MpiNodeMemory& node;
    MpiOutbox& outbox;
    MpiEngine& engine;
  };

  MpiInbox(const MpiSession& session, const LinkOptions& options, const Parts& parts);
  MpiInbox(const MpiInbox&) = delete;
  MpiInbox& operator=(const MpiInbox&) = delete;
  ~MpiInbox();

  /// Posts the first receives; arrivals go to the ports of `fabric`.
  void open(Fabric& fabric);
  /// Receives packets that have arrived, for a bounded time; returns whether there were any. Throws
  /// TransportError. `direct`: see Transport::poll().
  bool receive(DirectArrivals* direct);
  /// Cancels the receives. **Blocks**: never.
  void close();

  /// Called when bytes of `inlet` were consumed that were not reported to its sender yet.
  void report_later(MpiInlet& inlet);
  /// Reports consumed bytes to senders: large amounts, or `all`. Returns whether anything was
  /// reported.
  bool report(bool all);

  /// Whether all that each process has sent to this one, by its count, has been received.
  [[nodiscard]] bool has_received(const std::vector<std::uint64_t>& counts) const {
    return received_counts_ == counts && large_under_way_ == 0;
  }

 private:
  class LargeReceive;
  class PiecesReceive;
  struct Slot {
    Packet* packet = nullptr;
    MpiRequest request;
  };
  static constexpr std::size_t kSlots = 16;
  static constexpr int kBatch = 64;  // packets handled by one receive()

  static constexpr int kNearOnlyMax = 8;       // then those that are far have their turn
  static constexpr std::size_t kTakenMax = 4;  // slots without a receive

  bool receive_near(DirectArrivals* direct);
  bool receive_over_mpi(DirectArrivals* direct);
  void let_mpi_progress(bool worked);
  void post(Slot& slot);
  void post_taken();
  bool has_arrived(Slot& slot, MpiStatus& status) const;
  [[nodiscard]] std::size_t received_bytes(const MpiStatus& status) const;
  Packet* take_packet(Slot& slot, const MpiStatus& status) const;
  void verify(const Packet& packet, const MpiStatus& status, std::uint64_t expected_sequence) const;
  void handle(Packet* packet, const MpiStatus& status, DirectArrivals* direct);
  void handle_own(Packet* packet, int process);
  void handle_announcement(const MpiAnnouncement& announcement, int process);
  void handle_pieces(std::span<const std::byte> message, int process);
  [[noreturn]] void reject(int process, const char* what) const;
  /// Returns the inlet of a lane; nullptr if `process` has no such lane to this one.
  MpiInlet* inlet(int process, std::int32_t source, std::int32_t target, std::uint64_t lane);

  const MpiSession& session_;
  const MpiTable& mpi_;
  const Layout layout_;
  const LinkOptions options_;
  const std::size_t receive_bytes_;
  MpiTransfers& transfers_;
  MpiNodeMemory& node_;
  MpiOutbox& outbox_;
  MpiEngine& engine_;
  Fabric* fabric_ = nullptr;
  std::vector<Slot> ring_;
  std::size_t first_ = 0;                          // in ring_: the one posted longest ago
  std::size_t taken_ = 0;                          // slots before it that are not posted again
  unsigned calls_ = 0;                             // of let_mpi_progress()
  int near_only_ = 0;                              // calls of receive() in a row
  std::vector<std::unique_ptr<MpiInlet>> inlets_;  // by target, source and lane; made on first use
  std::vector<std::uint64_t> next_own_sequence_;   // of the engine's packets, by process
  std::vector<std::uint64_t> received_counts_;     // on kPacketTag or in memory, by process
  std::size_t large_under_way_ = 0;
  std::vector<MpiInlet*> unreported_;
  std::vector<std::vector<MpiAcknowledgement>> reports_;  // being gathered, by process
  std::vector<int> reported_to_;  // processes that something is being gathered for
};

}  // namespace shoal::net
