#include <shoal/sched/idle_workers.hpp>

#include <shoal/sync/strand.hpp>
#include <shoal/trace/probes.hpp>

#include "sched/idle_worker.hpp"
#include "sched/task_queues.hpp"
#include "sched/worker_activity.hpp"
#include "sync/pause.hpp"

#include <algorithm>

namespace shoal::sched {

namespace {

constexpr unsigned kSpinRounds = 64;   // steps with a pause between, a few microseconds
constexpr unsigned kYieldRounds = 64;  // then steps with a yield between
constexpr unsigned kYieldsInTask = 8;  // within a task that waits, where others need the cores
// Between two sleeps where others need the cores: MPI looks at its sockets in one of several polls.
constexpr unsigned kCrowdedRounds = 16;
constexpr std::uint64_t kLongYieldNs = 2'000'000;  // another process had its turn
constexpr std::uint64_t kCrowdedNs = 100'000'000;  // workers sleep instead
constexpr unsigned kPollRounds = 512;              // longer when arrivals come without a wake-up
constexpr std::uint64_t kPollSleepMinNs = 20'000;
constexpr std::uint64_t kPollSleepMaxNs = 500'000;

std::uint64_t poll_timeout_ns(unsigned idle_rounds) {
  const unsigned rounds = idle_rounds - std::min(idle_rounds, kPollRounds);
  const unsigned doublings = std::min(rounds / 8, 5U);
  return std::min(kPollSleepMinNs << doublings, kPollSleepMaxNs);
}

}  // namespace

// --- before sleep

bool IdleWorkers::take_look_again() {
  // relaxed: a hint, fall_asleep() looks again. The caller sees everything before the look_again()
  // whose flag is lowered here.
  if (!look_again_.load(std::memory_order_relaxed)) return false;
  look_again_.exchange(false, std::memory_order_seq_cst);
  return true;
}

bool IdleWorkers::expire_timers() {
  if (timers_.next_ns() == Timers::kNever) return false;
  return timers_.expire(env_.now_ns());
}

bool IdleWorkers::is_crowded() const {
  // relaxed: a hint
  const std::uint64_t until_ns = crowded_until_ns_.load(std::memory_order_relaxed);
  return until_ns != 0 && env_.now_ns() < until_ns;
}

// A worker that yields to a program that computes waits for a turn of the scheduler, a few
// milliseconds; one that sleeps runs soon after it wakes up. One long yield may be a task of
// another process of the run.
void IdleWorkers::yield() {
  const std::uint64_t begin_ns = env_.now_ns();
  env_.yield();
  const std::uint64_t end_ns = env_.now_ns();
  // relaxed, all of it: hints
  const bool was_long = end_ns - begin_ns >= kLongYieldNs;
  const bool again = last_yield_was_long_.exchange(was_long, std::memory_order_relaxed);
  if (was_long && again) {
    crowded_until_ns_.store(end_ns + kCrowdedNs, std::memory_order_relaxed);
  }
}

bool IdleWorkers::pause(IdleWorker& me, const Progress& progress, bool must_poll) {
  const unsigned spins = oversubscribed_ ? 0 : kSpinRounds;
  if (must_poll && progress.is_streaming()) me.rounds = std::min(me.rounds, std::max(spins, 1U));
  if (me.rounds <= spins) {
    // To poll takes long enough, unless another worker does it.
    if (!must_poll || workers_.size() > 1) sync::pause_briefly();
    return true;
  }
  const unsigned yields = must_poll ? kPollRounds : kYieldRounds;
  if (me.rounds > spins + yields) return false;
  static_assert(std::min({kCrowdedRounds, kYieldRounds, kPollRounds}) >
                IdleWorker::kAskAfterRounds);
  if (is_crowded()) {
    return me.rounds < kCrowdedRounds || (must_poll && me.rounds % kCrowdedRounds != 0);
  }
  yield();
  return true;
}

// Not for long: tasks that are not ready yet, and detection, need the loop.
bool IdleWorkers::pause_in_task(unsigned rounds, bool must_poll) {
  if (rounds > (oversubscribed_ ? kYieldsInTask : kSpinRounds)) return false;
  if (oversubscribed_) {
    if (is_crowded()) return false;
    yield();
  } else if (!must_poll || workers_.size() > 1) {
    sync::pause_briefly();
  }
  return true;
}

// --- sleep

namespace {

// relaxed, all of it: reports read
void park(IdleWorker& me, std::uint64_t timeout_ns, env::Env& env) {
  const std::uint64_t begin_ns = env.now_ns();
  me.asleep_since_ns.store(begin_ns, std::memory_order_relaxed);
  me.parker->park(timeout_ns);
  me.asleep_since_ns.store(0, std::memory_order_relaxed);
  const std::uint64_t slept_ns = me.slept_ns.load(std::memory_order_relaxed);  // its only writer
  me.slept_ns.store(slept_ns + env.now_ns() - begin_ns, std::memory_order_relaxed);
}

}  // namespace

// No wake-up is lost. The sleeper: state = asleep (A), then looks at the queues and flags (B). The
// pusher: changes one of them (C), then looks for sleepers (D). All are seq_cst, so either B sees
// C, or D sees A and unparks; and a Parker remembers an unpark() that comes before park(). A deque
// is pushed to with less: then the barrier between A and B makes either the pusher's C visible to
// B, or D come after A. tests/model/sync_sleep_wake_test.cpp explores it.
//
// One of several workers that could poll keeps a short sleep; the others sleep until woken.
void IdleWorkers::fall_asleep(IdleWorker& me, const Progress& progress, bool must_poll,
                              bool stepping) {
  me.polls = must_poll && !poller_taken_.exchange(true, std::memory_order_acq_rel);
  me.was_short = me.polls;
  me.keeps_time = false;
  me.state.store(IdleWorker::State::asleep, std::memory_order_seq_cst);
  sleeper_count_.fetch_add(1, std::memory_order_seq_cst);
  const bool is_seen = stepping || !sync::has_asymmetric_barrier() || sync::heavy_barrier();
  if (!is_seen || sees_work(me, progress)) return;
  std::uint64_t timeout_ns = me.polls ? poll_timeout_ns(me.rounds) : 0;
  me.keeps_time = limit_by_timer(me, timeout_ns);
  trace::sleep();
  if (stepping) {
    me.parker->park(timeout_ns);
  } else {
    park(me, timeout_ns, env_);
  }
  trace::wake();
}

void IdleWorkers::wake_up(IdleWorker& me) {
  if (me.keeps_time) timer_keeper_.store(Task::kAnyWorker, std::memory_order_seq_cst);
  // The thread that lowers the flag takes this worker off the count: a waker, or the worker itself.
  if (me.state.exchange(IdleWorker::State::awake, std::memory_order_seq_cst) ==
      IdleWorker::State::asleep) {
    sleeper_count_.fetch_sub(1, std::memory_order_seq_cst);
  } else {
    me.rounds = 0;  // woken: there is something to find
  }
  if (me.polls) poller_taken_.store(false, std::memory_order_release);
}

// Each of these is changed (C) before the caller of wake(), wake_one() and the like looks at the
// sleepers (D).
bool IdleWorkers::sees_work(const IdleWorker& me, const Progress& progress) const {
  return me.activity.must_answer() || look_again_.load(std::memory_order_seq_cst) ||
         me.queues.sees_work() || progress.looks_busy() || stopping();
}

// One of the sleeping workers wakes up for the next timer; it hands over when it finds work. True
// if this one does.
bool IdleWorkers::limit_by_timer(IdleWorker& me, std::uint64_t& timeout_ns) {
  if (timers_.next_ns() == Timers::kNever) return false;
  int nobody = Task::kAnyWorker;
  if (!timer_keeper_.compare_exchange_strong(nobody, me.id.value(), std::memory_order_seq_cst)) {
    return false;
  }
  // Read after the keeper is known: see add_timer().
  const std::uint64_t next_ns = timers_.next_ns();
  if (next_ns != Timers::kNever) {
    const std::uint64_t now_ns = env_.now_ns();
    const std::uint64_t left_ns = next_ns > now_ns ? next_ns - now_ns : 1;
    timeout_ns = timeout_ns == 0 ? left_ns : std::min(timeout_ns, left_ns);
    me.was_short = true;
  }
  return true;
}

// --- waking

bool IdleWorkers::wake_if_asleep(IdleWorker& worker) {
  IdleWorker::State expected = IdleWorker::State::asleep;
  if (worker.state.load(std::memory_order_seq_cst) != expected ||
      !worker.state.compare_exchange_strong(expected, IdleWorker::State::awake,
                                            std::memory_order_seq_cst)) {
    return false;
  }
  sleeper_count_.fetch_sub(1, std::memory_order_seq_cst);
  worker.parker->unpark();
  return true;
}

void IdleWorkers::wake_a_sleeper(int preferred) {
  const sync::Quiet quiet;
  if (preferred != Task::kAnyWorker &&
      wake_if_asleep(*workers_[static_cast<std::size_t>(preferred)])) {
    return;
  }
  for (IdleWorker* const worker : workers_) {
    if (wake_if_asleep(*worker)) return;
  }
}

void IdleWorkers::wake(WorkerId worker) {
  const sync::Quiet quiet;
  wake_if_asleep(*workers_[static_cast<std::size_t>(worker.value())]);
}

void IdleWorkers::look_again() {
  const sync::Quiet quiet;
  look_again_.store(true, std::memory_order_seq_cst);
  wake_one();
}

// A worker that is about to sleep raises its flag, takes the keeper's place if it is free, and
// looks at the first timer; here the timer is published first. Either it sees the timer, or it is
// seen here and woken. All seq_cst.
void IdleWorkers::add_timer(Timer& timer, std::uint64_t due_ns) {
  const sync::Quiet quiet;
  if (!timers_.add(timer, due_ns)) return;
  wake_one(timer_keeper_.load(std::memory_order_seq_cst));
}

void IdleWorkers::request_stop() {
  const sync::Quiet quiet;
  stopping_.store(true, std::memory_order_seq_cst);
  for (IdleWorker* const worker : workers_) wake_if_asleep(*worker);
}

}  // namespace shoal::sched
