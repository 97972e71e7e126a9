#include <shoal/detail/sched/idle_workers.hpp>

#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/trace/probes.hpp>

#include "env/crowding.hpp"
#include "sched/idle_worker.hpp"
#include "sched/task_queues.hpp"
#include "sched/worker_activity.hpp"
#include "sync/pause.hpp"

#include <algorithm>

namespace shoal::sched {

namespace {

constexpr unsigned kSpinRounds = 64;     // steps with a pause between, a few microseconds
constexpr unsigned kYieldRounds = 64;    // then steps with a yield between
constexpr unsigned kYieldsInTask = 8;    // within a task that waits, where others need the cores
constexpr unsigned kCrowdedRounds = 16;  // before the first sleep where others need the cores
// Between two such sleeps: MPI looks at its sockets in one of several polls.
constexpr unsigned kCrowdedPolls = 4;
constexpr unsigned kPollRounds = 512;       // longer when arrivals come without a wake-up
constexpr std::uint64_t kPollNs = 500'000;  // but not where polls take long, or others poll too
constexpr std::uint64_t kPollSleepMinNs = 20'000;
constexpr std::uint64_t kPollSleepMaxNs = 500'000;

// `sleeps`: how many there were since the worker was last busy.
std::uint64_t poll_timeout_ns(unsigned sleeps) {
  const unsigned doublings = std::min(sleeps / 8, 5U);
  return std::min(kPollSleepMinNs << doublings, kPollSleepMaxNs);
}

}  // namespace

IdleWorkers::IdleWorkers(env::Env& env, bool oversubscribed)
    : env_(env), oversubscribed_(oversubscribed), crowding_(std::make_shared<env::Crowding>()) {}

unsigned IdleWorkers::spin_rounds() const { return oversubscribed_ ? 0 : kSpinRounds; }

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

// Payloads move only while workers poll, so that workers do not sleep for long during a transfer.
// Nor do they keep a processor that other threads need, as the other end of the payload may be
// among them.
bool IdleWorkers::pause(IdleWorker& me, const Progress& progress, bool must_poll) {
  static_assert(std::min({kCrowdedRounds, kYieldRounds, kPollRounds}) >
                IdleWorker::kAskAfterRounds);
  static_assert(kCrowdedRounds % kCrowdedPolls == 0 && kPollRounds % kCrowdedPolls == 0);
  const unsigned spins = spin_rounds();
  const unsigned yields = must_poll ? kPollRounds : kYieldRounds;
  const bool crowded = me.rounds > spins && crowding_->is_crowded(env_);
  if (must_poll && progress.is_streaming()) {
    if (!crowded) {
      me.rounds = std::min(me.rounds, std::max(spins, 1U));
    } else if (me.rounds > kPollRounds) {  // the next sleep is a short one, like the last
      me.rounds = kPollRounds - kCrowdedPolls + 1;
    }
  }
  if (me.rounds <= spins) {
    // A poll takes long enough as a pause, unless another worker polls.
    if (!must_poll || workers_.size() > 1) sync::pause_briefly();
    return true;
  }
  if (me.rounds > spins + yields) return false;
  if (crowded) {
    return me.rounds < kCrowdedRounds || (must_poll && me.rounds % kCrowdedPolls != 0);
  }
  const std::uint64_t now_ns = crowding_->yield(env_);
  if (me.rounds == spins + 1) me.yields_since_ns = now_ns;
  if (me.rounds > IdleWorker::kAskAfterRounds && now_ns - me.yields_since_ns >= kPollNs) {
    me.rounds = spins + yields;
  }
  return true;
}

// Not for long: tasks that are not ready yet, and detection, need the loop.
bool IdleWorkers::pause_in_task(unsigned rounds, bool must_poll) {
  if (rounds > (oversubscribed_ ? kYieldsInTask : kSpinRounds)) return false;
  if (oversubscribed_) {
    if (crowding_->is_crowded(env_)) return false;
    crowding_->yield(env_);
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
  const unsigned awake_rounds = spin_rounds() + kPollRounds;
  std::uint64_t timeout_ns =
      me.polls ? poll_timeout_ns(me.rounds - std::min(me.rounds, awake_rounds)) : 0;
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
