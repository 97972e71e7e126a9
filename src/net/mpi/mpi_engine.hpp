#pragma once
// The one place that calls MPI while a world runs.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/port.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_outbox.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_window.hpp"
#include "net/mpi/mpi_wire.hpp"
#include "net/mpi_transport.hpp"

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

class MpiEngine;

/// State shared by the payloads of a process.
struct MpiPayloads {
  MpiTransfers& transfers;  // guarded by the engine's lock
  // relaxed: read after the last payload, by the thread that ends everything.
  std::atomic<std::size_t> under_way{0};
};

/// First a submission, then a transfer.
class MpiPayload : public MpiSubmission, public MpiTransfer {
 public:
  /// The other side, and the notification of the end here.
  struct Route {
    int peer;
    int tag;
    Completion* event;
    Port& port;
  };

  MpiPayload(const Route& route, MpiPayloads& all) : route_(route), all_(all) {
    all_.under_way.fetch_add(1, std::memory_order_relaxed);
  }
  ~MpiPayload() override { all_.under_way.fetch_sub(1, std::memory_order_relaxed); }

  void done() override { route_.port.post(route_.event); }
  void drop() override { delete this; }

 protected:
  // NOLINTBEGIN(readability-identifier-naming): private to those below
  const Route route_;
  MpiPayloads& all_;
  // NOLINTEND(readability-identifier-naming)
};

/// Transfers of Transport and RemoteMemory, see there. They do not call MPI. **Caller**: any
/// thread.
class MpiPayloadCalls {
 public:
  MpiPayloadCalls(const MpiSession& session, MpiTransfers& transfers, MpiWindow& window,
                  MpiEngine& engine)
      : session_(session), window_(window), engine_(engine), payloads_{transfers} {}
  MpiPayloadCalls(const MpiPayloadCalls&) = delete;
  MpiPayloadCalls& operator=(const MpiPayloadCalls&) = delete;

  /// Sets the fabric, before the first call.
  void attach(Fabric& fabric);
  void send(Rank source, Rank target, std::uint32_t tag, std::span<const std::byte> bytes,
            Completion* done);
  void receive(Rank source, Rank target, std::uint32_t tag, std::span<std::byte> bytes,
               Completion* done);
  void expose(std::shared_ptr<env::SharedMemory> memory, Rank owner, Completion* done);
  void get(Rank reader, Rank owner, std::uint64_t address, std::span<std::byte> to,
           Completion* done);
  /// How many different tags payloads have.
  [[nodiscard]] std::uint32_t tag_count() const;
  [[nodiscard]] std::size_t under_way() const {
    return payloads_.under_way.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] MpiPayload::Route route(Rank peer, std::uint32_t tag, Completion* event,
                                        Rank local) const;

  const MpiSession& session_;
  MpiWindow& window_;
  MpiEngine& engine_;
  MpiPayloads payloads_;  // touches the transfers under the engine's lock only
  Fabric* fabric_ = nullptr;
};

/// Any thread submits work through a queue. One thread at a time, the holder of the lock, starts
/// that work, sends, receives and posts to ports. It runs no code of the program.
///
/// No submission is forgotten: a submitter pushes and then looks for a poller; a poller unlocks,
/// lowers polling_, and then looks into the queue again. All are seq_cst, so at least one of the
/// two sees the other; a thread that finds the lock taken has pushed before its owner's look. A
/// submitter that sees no poller has the poll made, by itself or by the thread that waker_ wakes.
class MpiEngine {
 public:
  MpiEngine(MpiSession& session, MpiNodeMemory& node, MpiWindow& window, const MpiOptions& options);
  ~MpiEngine();
  MpiEngine(const MpiEngine&) = delete;
  MpiEngine& operator=(const MpiEngine&) = delete;

  void attach(Fabric& fabric);
  std::unique_ptr<Link> make_link(Rank source, Rank target, Lane lane);
  /// Any thread.
  [[nodiscard]] MpiPayloadCalls& payloads() { return payloads_; }

  /// Sets the function that is called when a thread should poll. Called while no other thread uses
  /// the engine.
  void set_waker(Function<void()> waker) { waker_ = std::move(waker); }
  /// Sets the function that finish() calls, see MpiTransport.
  void set_before_close(Function<void()> function) { before_close_ = std::move(function); }

  /// Runs one round of all work, unless another thread does; returns whether anything happened.
  /// Throws nothing: an error is kept, and ends the engine's work. `direct`: see Transport::poll().
  bool advance(DirectArrivals* direct = nullptr) { return advance(Extent::everything, direct); }
  /// Throws the error that advance() kept.
  void rethrow_failure();
  [[nodiscard]] bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  /// Returns whether payloads are in flight, and have not been for longer than they may need.
  [[nodiscard]] bool is_streaming() const {
    return streaming_.load(std::memory_order_relaxed);  // a hint
  }
  /// Returns whether there is work that advance() would start.
  [[nodiscard]] bool has_submissions() const {
    return !submissions_.looks_empty() || report_due_.load(std::memory_order_seq_cst);
  }

  /// Locks the calls of MPI, see Transport::lock_calls().
  void lock_calls() SHOAL_UNCHECKED_LOCKING { mutex_.lock(); }
  void unlock_calls() SHOAL_UNCHECKED_LOCKING;

  /// Ends the engine, see Transport::finish(). Collective.
  void finish();

  // Work of other threads. **Caller**: any thread. **Blocks**: never.

  /// Submits work, and makes sure that a thread will start it. Throws nothing.
  void submit(MpiSubmission& submission);
  /// Submits work that can wait for the next poll, see submit().
  void submit_quietly(MpiSubmission& submission);
  /// Makes the next round tell a sender how much was consumed.
  void report_soon();
  /// Makes sure that a thread polls soon.
  void nudge();
  /// Removes a link that ends. **Precondition**: no thread appends to it.
  void withdraw(MpiLink& link);

 private:
  enum class Extent { everything, sends };
  bool advance(Extent extent, DirectArrivals* direct);
  bool try_round(Extent extent, bool& worked, DirectArrivals* direct);
  bool round(DirectArrivals* direct) SHOAL_REQUIRES(mutex_);
  bool send() SHOAL_REQUIRES(mutex_);
  bool start_submissions() SHOAL_REQUIRES(mutex_);
  void look_after_unlock();
  void look_at_streams(std::uint64_t now_ns) SHOAL_REQUIRES(mutex_);
  [[nodiscard]] bool may_call_mpi_here() const;
  void drain() SHOAL_REQUIRES(mutex_);

  MpiSession& session_;
  MpiWindow& window_;
  const MpiOptions options_;
  Function<void()> waker_;
  Function<void()> before_close_;

  sync::MpscQueue submissions_;          // the holder of mutex_ consumes
  std::atomic<bool> polling_{false};     // see above
  std::atomic<bool> report_due_{false};  // likewise a submission: see report_soon()
  // relaxed: about when the last round began; only decides between two ways that both work.
  std::atomic<std::uint64_t> last_round_ns_{0};
  // relaxed, likewise: nothing was sent since the last round. Written under mutex_.
  std::atomic<bool> is_first_{true};
  std::atomic<bool> streaming_{false};
  std::exception_ptr failure_;       // written once, before failed_
  std::atomic<bool> failed_{false};  // release after failure_, acquire before

  sync::StoreReleaseMutex mutex_;
  MpiTransfers transfers_ SHOAL_GUARDED_BY(mutex_);
  MpiOutbox outbox_ SHOAL_GUARDED_BY(mutex_);
  MpiInbox inbox_ SHOAL_GUARDED_BY(mutex_);
  MpiPayloadCalls payloads_;
  unsigned rounds_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_work_ns_ SHOAL_GUARDED_BY(mutex_) = 0;
  bool closing_ SHOAL_GUARDED_BY(mutex_) = false;  // acknowledgements are no longer needed
  bool closed_ SHOAL_GUARDED_BY(mutex_) = false;
};

}  // namespace shoal::net
