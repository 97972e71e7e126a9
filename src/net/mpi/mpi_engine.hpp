#pragma once
// The one place that calls MPI while a world runs.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>

#include <atomic>
#include <exception>

#include "net/mpi/mpi_inbox.hpp"
#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_outbox.hpp"
#include "net/mpi/mpi_payload.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_window.hpp"
#include "net/mpi_transport.hpp"

namespace shoal::net {

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
