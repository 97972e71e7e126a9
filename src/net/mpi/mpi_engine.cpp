#include "net/mpi/mpi_engine.hpp"

#include <shoal/detail/net/pieces.hpp>

#include <fmt/format.h>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_lifetime.hpp"
#include "net/mpi/mpi_rest.hpp"

namespace shoal::net {

namespace {

/// Takes over a mutex that is already locked.
class SHOAL_SCOPED_CAPABILITY AdoptedLock {
 public:
  explicit AdoptedLock(sync::StoreReleaseMutex& mutex) SHOAL_REQUIRES(mutex) : mutex_(mutex) {}
  ~AdoptedLock() SHOAL_RELEASE() { mutex_.unlock(); }
  AdoptedLock(const AdoptedLock&) = delete;
  AdoptedLock& operator=(const AdoptedLock&) = delete;

 private:
  sync::StoreReleaseMutex& mutex_;
};

}  // namespace

MpiEngine::MpiEngine(MpiSession& session, MpiNodeMemory& node, MpiWindow& window,
                     const MpiOptions& options)
    : session_(session),
      window_(window),
      options_(options),
      transfers_(session.mpi(), session.communicator(), session.process(), options.chunk_bytes),
      outbox_(session.layout(), transfers_, node, options.link.packet_bytes),
      inbox_(session, options.link, {transfers_, node, outbox_, *this}),
      payloads_(session, transfers_, window, *this) {}

// Without finish(): buffers that MPI still uses stay allocated, and the destructor does not wait
// for other processes.
MpiEngine::~MpiEngine() {
  while (auto* node = submissions_.try_pop()) static_cast<MpiSubmission*>(node)->drop();
  sync::locked(mutex_, [this]() SHOAL_REQUIRES(mutex_) {
    if (!closed_ && MpiLifetime::of_process().is_up()) inbox_.close();
  });
}

void MpiEngine::attach(Fabric& fabric) {
  payloads_.attach(fabric);
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) { inbox_.open(fabric); });
}

std::unique_ptr<Link> MpiEngine::make_link(Rank source, Rank target, Lane lane) {
  auto link = std::make_unique<MpiLink>(source, target, lane, options_.link,
                                        MpiLink::Context{outbox_, *this});
  {
    const sync::StoreReleaseLock lock(mutex_);
    outbox_.enroll(*link);
  }
  look_after_unlock();
  return link;
}

void MpiEngine::unlock_calls() {
  mutex_.unlock();
  look_after_unlock();
}

// For submitters that have found the lock taken.
void MpiEngine::look_after_unlock() {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the lock is free before the look
  if (has_submissions() && waker_) waker_();
}

void MpiEngine::submit_quietly(MpiSubmission& submission) { submissions_.push(&submission); }

void MpiEngine::report_soon() { report_due_.store(true, std::memory_order_seq_cst); }

void MpiEngine::submit(MpiSubmission& submission) {
  submissions_.push(&submission);
  if (polling_.load(std::memory_order_seq_cst)) return;
  if (is_first_.load(std::memory_order_relaxed) && may_call_mpi_here()) {
    advance(Extent::sends, nullptr);
    if (!failed_.load(std::memory_order_acquire)) return;
  }
  nudge();
}

// The first submission after a round leaves at once: a rank may wait for it. The next ones find
// that no poll came since, and wait until the next round, so that they share packets. An engine
// that was not polled for a while may not be polled for long, since a task runs; then the
// submitting thread polls. While polls are frequent, they find fuller packets.
void MpiEngine::nudge() {
  if (polling_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t quiet_since = last_round_ns_.load(std::memory_order_relaxed);
  if (options_.env->now_ns() - quiet_since >= options_.flush_ns && may_call_mpi_here()) {
    advance();
    if (!failed_.load(std::memory_order_acquire)) return;  // else: the next poll throws
  }
  if (waker_) waker_();
}

bool MpiEngine::may_call_mpi_here() const {
  switch (session_.policy()) {
    case ProgressPolicy::worker:
      return true;
    case ProgressPolicy::thread:
      return false;
    case ProgressPolicy::main:
      break;
  }
  return session_.is_main_thread();
}

bool MpiEngine::advance(Extent extent, DirectArrivals* direct) {
  constexpr int kRoundsMax = 8;  // a submitter may be interrupted half way: do not wait for it
  bool worked = false;
  for (int i = 0; i < kRoundsMax; ++i) {
    if (!try_round(extent, worked, direct) || !has_submissions()) return worked;
    extent = Extent::everything;  // a report may be due
  }
  if (waker_) waker_();
  return worked;
}

// Returns false when another thread is at it, or when the engine works no more.
bool MpiEngine::try_round(Extent extent, bool& worked, DirectArrivals* direct) {
  std::vector<MpiCredit> credits;
  std::vector<std::shared_ptr<Pieces>> sent;  // destroyed without the lock
  {
    if (failed_.load(std::memory_order_acquire) || !mutex_.try_lock()) return false;
    const AdoptedLock lock(mutex_);
    if (closed_) return false;
    polling_.store(true, std::memory_order_relaxed);  // seen too late: a call of advance() too many
    const MpiYields::Off off(session_.yields());
    try {
      if (extent == Extent::sends ? send() : round(direct)) worked = true;
    } catch (...) {
      failure_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
      worked = true;
    }
    credits = outbox_.take_credits();
    sent = outbox_.take_sent_pieces();
  }
  polling_.store(false, std::memory_order_seq_cst);  // behind the unlock, which is a plain store
  // The lock is not held: the senders that this wakes may send, and enter the engine again.
  for (const MpiCredit& credit : credits) credit.link->consumed(credit.bytes);
  return true;
}

bool MpiEngine::round(DirectArrivals* direct) {
  // Rounds per look at the clock, which takes as long as a tenth of a round.
  constexpr unsigned kRoundsPerLook = 8;
  if (rounds_++ % kRoundsPerLook == 0) {
    last_round_ns_.store(options_.env->now_ns(), std::memory_order_relaxed);
  }
  const std::uint64_t now_ns = last_round_ns_.load(std::memory_order_relaxed);
  // Sends the messages of handlers first: other ranks wait for them.
  bool worked = send();
  if (!is_first_.load(std::memory_order_relaxed)) is_first_.store(true, std::memory_order_relaxed);
  if (transfers_.advance()) worked = true;
  if (inbox_.receive(direct)) {
    worked = true;
    static_cast<void>(transfers_.advance());  // of what was announced, whose sender waits
  }
  if (worked && outbox_.send_ready()) worked = true;  // for which these two have made room
  if (worked) last_work_ns_ = now_ns;
  look_at_streams(now_ns);
  const bool due = report_due_.load(std::memory_order_relaxed) &&
                   report_due_.exchange(false, std::memory_order_seq_cst);
  const bool has_time = !worked && now_ns - last_work_ns_ >= options_.flush_ns;
  if (!closing_ && (due || has_time) && inbox_.report(has_time)) worked = true;
  return worked;
}

bool MpiEngine::send() {
  const bool started = start_submissions();
  if (started) is_first_.store(false, std::memory_order_relaxed);
  return outbox_.send_ready() || started;
}

// MPI does not show the progress of a transfer before it has ended. So payloads count as moving for
// as long as a slow network takes for them, also when the peer has not started its side.
void MpiEngine::look_at_streams(std::uint64_t now_ns) {
  constexpr std::uint64_t kAtLeastNs = 100'000;
  constexpr std::uint64_t kSlowestNsPerByte = 4;
  const std::uint64_t bytes = transfers_.payload_bytes();
  const bool streaming =
      bytes > 0 && now_ns - last_work_ns_ < kAtLeastNs + kSlowestNsPerByte * bytes;
  if (streaming != is_streaming()) streaming_.store(streaming, std::memory_order_relaxed);
}

bool MpiEngine::start_submissions() {
  bool any = false;
  while (auto* node = submissions_.try_pop()) {
    static_cast<MpiSubmission*>(node)->start();
    any = true;
  }
  return any;
}

void MpiEngine::rethrow_failure() {
  if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
}

void MpiEngine::withdraw(MpiLink& link) {
  const sync::StoreReleaseLock lock(mutex_);
  // Its announcement may be anywhere in the queue. After a failure starting only makes lists
  // longer.
  if (closed_) {
    while (auto* node = submissions_.try_pop()) static_cast<MpiSubmission*>(node)->drop();
  } else {
    try {
      start_submissions();
    } catch (...) {
      if (!failed_.load(std::memory_order_acquire)) {
        failure_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
      }
    }
  }
  outbox_.forget(link);
}

// All messages sent are counted and received before any process frees the communicator. Packets
// that a window still holds back are not sent: after an orderly end there are none.
void MpiEngine::finish() {
  rethrow_failure();
  sync::locked(mutex_, [this]() SHOAL_REQUIRES(mutex_) {
    if (closed_) return;
    waker_ = nullptr;
    start_submissions();
    inbox_.report(true);  // for processes that are not here yet
    closing_ = true;
    drain();
    if (before_close_) before_close_();
    window_.close();
    inbox_.close();
    closed_ = true;
    if (const std::size_t left = payloads_.under_way(); left > 0) {
      throw TransportError(fmt::format(
          "process {} ends with {} payloads under way: the other process has not started "
          "its side of them",
          session_.process(), left));
    }
    session_.close();
  });
}

void MpiEngine::drain() {
  const MpiYields::Off off(session_.yields());
  MpiRest rest(*options_.env);
  const auto round_or_rest = [&]() SHOAL_REQUIRES(mutex_) {
    if (round(nullptr)) {
      rest.end();
    } else {
      rest.pause();
    }
    static_cast<void>(outbox_.take_credits());  // no sender waits for room any more
  };
  do {
    round_or_rest();
  } while (has_submissions() || !outbox_.is_quiet() || transfers_.is_reading());
  const std::vector<std::uint64_t> sent = outbox_.sent_counts();
  std::vector<std::uint64_t> due(sent.size());
  const MpiTable& mpi = session_.mpi();
  MpiRequest request = mpi.request_null;
  mpi_check(mpi,
            mpi.ialltoall(sent.data(), sizeof(std::uint64_t), due.data(), session_.communicator(),
                          &request),
            {"MPI_Ialltoall", session_.process()});
  for (int all_here = 0; all_here == 0;) {
    round_or_rest();
    mpi_check(mpi, mpi.test(&request, &all_here, nullptr), {"MPI_Ialltoall", session_.process()});
  }
  while (!inbox_.has_received(due)) round_or_rest();
}

}  // namespace shoal::net
