#include <shoal/sync.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>

#include <fmt/format.h>

#include <limits>

namespace shoal {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

sched::LockOwner caller() {
  if (const sched::Task* const task = sched::current_task()) return {task, {}};
  static thread_local char of_this_thread;
  return {nullptr, &of_this_thread};
}

/// Wakes a waiter, after the lock of its list was released.
void wake(sync::Waiter* waiter) {
  if (waiter != nullptr) waiter->wake();
}

}  // namespace

// --- Mutex

bool Mutex::is_mine() const {
  const sync::Lock lock(mutex_);
  return owner_ == caller();
}

void Mutex::lock() {
  if (take_or_refuse()) return;
  wait_here();
  own();
}

void Mutex::lock_again() {
  if (take_or_refuse()) return;
  sched::WaitBeyondGroup(*this).wait();
  own();
}

bool Mutex::lock_until_ns(std::uint64_t due_ns) {
  if (take_or_refuse()) return true;
  if (has_come(due_ns) || !wait_here_until(due_ns)) return false;
  own();
  return true;
}

bool Mutex::take_or_refuse() {
  check_may_wait();
  if (take()) return true;
  SHOAL_CHECK(!is_mine(), "lock() of mutex '{}': the caller holds it already", name_);
  return false;
}

// The mutex was handed over to the caller.
void Mutex::own() {
  const sync::Lock lock(mutex_);
  owner_ = caller();
}

bool Mutex::take() {
  const sync::Lock lock(mutex_);
  if (locked_) return false;
  locked_ = true;
  owner_ = caller();
  return true;
}

bool Mutex::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (!locked_) {
    locked_ = true;
    return false;
  }
  waiters_.push(waiter);
  return true;
}

void Mutex::unlock() { release(caller()); }
void Mutex::unlock_for(const sched::Task& task) { release({&task, {}}); }

// Hands the lock to the first waiter: it stays locked, so no other task can take it in between.
void Mutex::release(const sched::LockOwner& owner) {
  sync::Waiter* next = nullptr;
  bool is_owner = false;
  {
    const sync::Lock lock(mutex_);
    is_owner = owner_ == owner;
    if (is_owner) {
      owner_ = {};
      next = waiters_.pop();
      locked_ = next != nullptr;
    }
  }
  SHOAL_CHECK(
      is_owner,
      "unlock() of mutex '{}': the caller does not hold it (a coroutine that has waited may "
      "go on as another task)",
      name_);
  wake(next);
}

const sched::Task* Mutex::holder() const {
  const sync::Lock lock(mutex_);
  return owner_.task;
}

std::string Mutex::describe() const { return fmt::format("lock() of mutex '{}'", name_); }

// --- ConditionVariable

/// Taken while the lock is held: it is notified from then on, in the list or on the way there.
class ConditionVariable::Ticket final : public sched::Waitable {
 public:
  explicit Ticket(ConditionVariable& condition)
      : Waitable(condition.scheduler_), condition_(condition) {
    const sync::Lock lock(condition.mutex_);
    number_ = ++condition.tickets_;
    condition.coming_.push_back(number_);
  }
  // After the waiter was in the list it is not in coming_ any more, and the condition may not exist
  // any more. One that was refused on the way leaves its notification to another one.
  ~Ticket() {
    if (!arrived_ && !leave()) condition_.notify_one();
  }
  bool enlist(sync::Waiter& waiter) override {
    arrived_ = true;  // before another thread can wake the task
    const sync::Lock lock(condition_.mutex_);
    if (!come()) return false;
    condition_.waiters_.push(waiter);
    return true;
  }
  bool withdraw(sync::Waiter& waiter) override {
    const sync::Lock lock(condition_.mutex_);
    return condition_.waiters_.remove(waiter);
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("wait() of condition '{}'", condition_.name_);
  }
  void wait() { wait_here(); }
  [[nodiscard]] bool wait_until(std::uint64_t due_ns) { return wait_here_until(due_ns); }

 private:
  /// Returns false if it was notified on the way.
  bool come() SHOAL_REQUIRES(condition_.mutex_) {
    return std::erase(condition_.coming_, number_) != 0;
  }
  bool leave() {
    const sync::Lock lock(condition_.mutex_);
    return come();
  }

  ConditionVariable& condition_;
  std::uint64_t number_ = 0;
  bool arrived_ = false;
};

void ConditionVariable::wait(std::unique_lock<Mutex>& lock) {
  wait_unlocked(lock, [](Ticket& ticket) { ticket.wait(); });
}

// It waits even if the time has come: it may have been notified since it has its ticket.
FutureStatus ConditionVariable::wait_until_ns(std::unique_lock<Mutex>& lock, std::uint64_t due_ns) {
  bool is_notified = false;
  wait_unlocked(lock, [&](Ticket& ticket) { is_notified = ticket.wait_until(due_ns); });
  return is_notified ? FutureStatus::ready : FutureStatus::timeout;
}

template <class Wait>
void ConditionVariable::wait_unlocked(std::unique_lock<Mutex>& lock, Wait wait) {
  SHOAL_CHECK(lock.owns_lock() && lock.mutex()->is_mine(),
              "wait() of condition '{}': the caller does not hold the lock it gave", name_);
  try {
    Ticket ticket(*this);
    lock.unlock();
    wait(ticket);
  } catch (const CancelledError&) {
    throw;  // no task may wait any more, not even for a lock
  } catch (...) {
    lock.lock();
    throw;
  }
  Mutex& mutex = *lock.mutex();
  try {
    mutex.lock_again();
  } catch (const CancelledError&) {
    notify_one();  // the team of the caller has failed: others have to see what it was told of
    throw;
  }
  lock = std::unique_lock(mutex, std::adopt_lock);
}

void ConditionVariable::notify_one() {
  if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]]
    return attempt->withhold([this] { notify_one(); });
  sync::Waiter* first = nullptr;
  {
    const sync::Lock lock(mutex_);
    first = waiters_.pop();
    if (first == nullptr && !coming_.empty()) coming_.erase(coming_.begin());
  }
  wake(first);
}

void ConditionVariable::notify_all() {
  if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]]
    return attempt->withhold([this] { notify_all(); });
  sync::TakenWaiters woken;
  {
    const sync::Lock lock(mutex_);
    coming_.clear();
    woken = waiters_.take_all();
  }
  woken.wake_all();
}

// --- Semaphore

Semaphore::Semaphore(const sched::OnRank& team, std::int64_t permits, std::string name)
    : WaitingRoom(team.scheduler()), name_(std::move(name)), permits_(permits) {
  SHOAL_CHECK(permits >= 0, "semaphore '{}' cannot have {} permits", name_, permits);
}

void Semaphore::acquire() {
  check_may_wait();
  if (!take()) wait_here();
}

bool Semaphore::acquire_until_ns(std::uint64_t due_ns) {
  check_may_wait();
  return take() || (!has_come(due_ns) && wait_here_until(due_ns));
}

bool Semaphore::take() {
  const sync::Lock lock(mutex_);
  if (permits_ == 0) return false;
  --permits_;
  return true;
}

bool Semaphore::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (permits_ > 0) {
    --permits_;
    return false;
  }
  waiters_.push(waiter);
  return true;
}

void Semaphore::release(std::int64_t count) {
  SHOAL_CHECK(count >= 1, "semaphore '{}' cannot get {} permits back", name_, count);
  if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]]
    return attempt->withhold([this, count] { release(count); });
  sync::TakenWaiters woken;
  std::int64_t before = 0;
  {
    const sync::Lock lock(mutex_);
    before = permits_;
    // No task waits while there are permits: permits that waiters take at once need no room.
    if (count <= kMost - before) {
      woken = waiters_.take(count);
      permits_ += count;
    }
  }
  SHOAL_CHECK(count <= kMost - before,
              "release({}) of semaphore '{}', which has {} permits: {} are the most it can have",
              count, name_, before, kMost);
  woken.wake_all();
}

std::string Semaphore::describe() const {
  return fmt::format("acquire() of semaphore '{}'", name_);
}

// --- Barrier

Barrier::Barrier(const sched::OnRank& team, std::int64_t count, std::string name)
    : scheduler_(team.scheduler()), name_(std::move(name)), count_(count), missing_(count) {
  SHOAL_CHECK(count >= 1, "barrier '{}' cannot be for {} tasks", name_, count);
}

/// One use of the barrier by all tasks.
class Barrier::Phase final : public sched::Waitable {
 public:
  Phase(Barrier& barrier, std::uint64_t number)
      : Waitable(barrier.scheduler_), barrier_(barrier), number_(number) {}
  bool enlist(sync::Waiter& waiter) override {
    const sync::Lock lock(barrier_.mutex_);
    if (barrier_.phase_ != number_) return false;  // it has ended meanwhile
    barrier_.waiters_.push(waiter);
    return true;
  }
  bool withdraw(sync::Waiter& waiter) override {
    const sync::Lock lock(barrier_.mutex_);
    return barrier_.waiters_.remove(waiter);
  }
  [[nodiscard]] std::string describe() const override {
    const sync::Lock lock(barrier_.mutex_);
    return fmt::format("arrive_and_wait() of barrier '{}', to which {} of {} have come",
                       barrier_.name_, barrier_.count_ - barrier_.missing_, barrier_.count_);
  }
  void wait() { wait_here(); }

 private:
  Barrier& barrier_;
  const std::uint64_t number_;
};

void Barrier::arrive_and_wait() {
  Phase(*this, 0).check_may_wait();
  sync::TakenWaiters woken;
  std::uint64_t number = 0;
  bool last = false;
  {
    const sync::Lock lock(mutex_);
    number = phase_;
    last = --missing_ == 0;
    if (last) {
      missing_ = count_;
      ++phase_;
      woken = waiters_.take_all();
    }
  }
  if (last) return woken.wake_all();
  try {
    Phase(*this, number).wait();
  } catch (...) {  // a task that does not wait here has not come
    {
      const sync::Lock lock(mutex_);
      if (phase_ == number) ++missing_;
    }
    throw;  // without the lock: a main function that throws may park in it
  }
}

// --- Latch

Latch::Latch(const sched::OnRank& team, std::int64_t count, std::string name)
    : WaitingRoom(team.scheduler()), name_(std::move(name)), count_(count) {
  SHOAL_CHECK(count >= 0, "latch '{}' cannot begin at {}", name_, count);
}

void Latch::add(std::int64_t count) {
  sched::refuse_in_attempt("add() of a latch");
  SHOAL_CHECK(count >= 1, "add({}) to latch '{}'", count, name_);
  std::int64_t before = 0;
  {
    const sync::Lock lock(mutex_);
    before = count_;
    if (before > 0 && count <= kMost - before) count_ += count;
  }
  SHOAL_CHECK(before > 0,
              "add() to latch '{}', which is at zero already: add before the last "
              "count_down()",
              name_);
  SHOAL_CHECK(count <= kMost - before,
              "add({}) to latch '{}', which is at {}: {} is the most it can count", count, name_,
              before, kMost);
}

void Latch::count_down(std::int64_t count) {
  if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]]
    return attempt->withhold([this, count] { count_down(count); });
  sync::TakenWaiters woken;
  std::int64_t before = 0;
  {
    const sync::Lock lock(mutex_);
    before = count_;
    if (count >= 1 && count <= before) count_ -= count;
    if (count == before) woken = waiters_.take_all();
  }
  SHOAL_CHECK(count >= 1 && count <= before,
              "count_down({}) of latch '{}', which is at {}: make it with the number of all calls",
              count, name_, before);
  woken.wake_all();
}

bool Latch::is_zero() const {
  const sync::Lock lock(mutex_);
  return count_ == 0;
}

void Latch::wait() {
  check_may_wait();
  if (!is_zero()) wait_here();
}

FutureStatus Latch::wait_until_ns(std::uint64_t due_ns) {
  check_may_wait();
  const bool is_over = is_zero() || (!has_come(due_ns) && wait_here_until(due_ns));
  return is_over ? FutureStatus::ready : FutureStatus::timeout;
}

bool Latch::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (count_ == 0) return false;
  waiters_.push(waiter);
  return true;
}

std::string Latch::describe() const {
  const sync::Lock lock(mutex_);
  return fmt::format("wait() of latch '{}', which is at {}", name_, count_);
}

}  // namespace shoal
