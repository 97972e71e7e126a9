#pragma once
// Receives packets, checks them, and hands them to the inlets.

#include <shoal/detail/net/transport.hpp>

#include <memory>
#include <vector>

#include "net/mpi/mpi_inlet.hpp"
#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_outbox.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_wire.hpp"

namespace shoal::net {

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
    MpiSubmissions& submissions;
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
  void report_later(MpiInlet& inlet) {
    unreported_.push_back(&inlet);
    if (inlet.wants_report()) submissions_.report_soon();  // who said so may have come too early
  }
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
  MpiSubmissions& submissions_;
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
