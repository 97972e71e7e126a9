#pragma once
// Locks and meeting points for tasks: waiting parks the task, and its worker runs others.
//
// Each object outlives all calls on it; but a task that returns from the wait() of a Latch may
// destroy it, if no other task is in its wait(): count_down() does not touch it any more. So a
// ConditionVariable outlives the calls of its waiters, unlike that of the standard library, also
// when all are notified: a deadline that passes just then, or a failure, still looks at it. Each is
// made on a rank, for the tasks, the main function and the threads of that rank. Handlers may use
// calls that never block. lock(), acquire(), wait(), arrive_and_wait() and all calls with a
// deadline are refused in handlers and on other ranks with CheckError, even where they would not
// have to wait. StuckError names waiters that nothing can wake any more, and cycles of locks.
//
// A deadline is a std::chrono::duration, a std::chrono::time_point or a time of Team::now_ns(); in
// a simulated world, of virtual time. A caller that gives up leaves its place in the line: the
// lock, the permit or the notification goes to another caller. A wait with a deadline counts as
// running, as sleep_for() does: StuckError never names it. The workers of the rank look at the time
// between tasks, also for threads of the program.

#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/future_status.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

namespace sched {

/// Owner of a lock: a task, or a thread that runs no task. A lock taken by a handler is owned by
/// the thread that runs the handler.
struct LockOwner {
  const Task* task = nullptr;
  const void* thread = nullptr;  // without a task: an address that only this thread has
  bool operator==(const LockOwner&) const = default;
};

}  // namespace sched

/// Mutual exclusion; waiters get it in the order they came. Fits std::unique_lock and the like,
/// also with a deadline. A task unlocks it before it ends, and a coroutine before each co_await:
/// the code after it may run as another task, and a std::unique_lock that is refused there ends the
/// process. **Errors**: CheckError when the holder locks it again, or another task unlocks it.
class Mutex final : public sched::WaitingRoom {
 public:
  /// Makes a mutex on the caller's rank. **Caller**: a task, handler or main function.
  explicit Mutex(std::string name = "a mutex")
      : Mutex(sched::current_scheduler("a mutex"), std::move(name)) {}
  /// Makes a mutex on the rank of a team: `Mutex mutex(world, "name")`. **Caller**: any thread.
  explicit Mutex(const sched::OnRank& team, std::string name = "a mutex")
      : WaitingRoom(team.scheduler()), name_(std::move(name)) {}

  /// Locks the mutex; waits while another task or thread holds it. **Blocks**: parks the task.
  /// **Errors**: as sched::wait_for() when it waits: in a destructor, see CancelledError.
  void lock();
  /// Locks the mutex if it is free; returns whether it did. **Blocks**: never.
  [[nodiscard]] bool try_lock() {
    sched::refuse_in_attempt("try_lock() of a mutex");
    return take() || sched::poll_missed();
  }
  /// Locks the mutex; waits at most for `delay`, a std::chrono::duration. Returns whether it did.
  /// **Blocks**: parks the task. **Errors**: as lock().
  template <sched::Duration D>
  [[nodiscard]] bool try_lock_for(D delay) {
    return lock_until_ns(sched::due_ns(scheduler(), delay));
  }
  /// Locks the mutex; waits at most until `time`, a std::chrono::time_point or a time of
  /// Team::now_ns(). See try_lock_for().
  template <sched::Deadline D>
  [[nodiscard]] bool try_lock_until(D time) {
    return lock_until_ns(sched::due_ns(scheduler(), time));
  }
  /// Unlocks the mutex. **Blocks**: never. **Errors**: CheckError when the caller does not hold it.
  void unlock();
  /// @cond internals
  /// Unlocks the mutex for a task that ends without having unlocked it.
  void unlock_for(const sched::Task& task);
  /// @endcond
  /// Returns whether the caller holds the mutex.
  [[nodiscard]] bool is_mine() const;

  /// Name in reports.
  [[nodiscard]] const std::string& name() const { return name_; }

  bool enlist(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const sched::Task* holder() const override;

 private:
  friend class ConditionVariable;
  bool take();
  bool take_or_refuse();
  void own();
  /// Behind the wait for a condition: not ended by the group of the task.
  void lock_again();
  [[nodiscard]] bool lock_until_ns(std::uint64_t due_ns);
  void release(const sched::LockOwner& owner);

  const std::string name_;
  bool locked_ SHOAL_GUARDED_BY(mutex_) = false;
  // Without owner while it is locked but being handed over.
  sched::LockOwner owner_ SHOAL_GUARDED_BY(mutex_);
};

/// ConditionVariable variable: waits for a change of data that a Mutex protects.
class ConditionVariable final {
 public:
  /// Makes a condition on the caller's rank. **Caller**: a task, handler or main function.
  explicit ConditionVariable(std::string name = "a condition")
      : ConditionVariable(sched::current_scheduler("a condition"), std::move(name)) {}
  /// Makes a condition on the rank of a team: `ConditionVariable condition(world)`. **Caller**: any
  /// thread.
  explicit ConditionVariable(const sched::OnRank& team, std::string name = "a condition")
      : scheduler_(team.scheduler()), name_(std::move(name)) {}
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  /// Unlocks `lock`, waits for a notification, and locks it again. No notification that comes after
  /// the unlocking is missed. The caller holds the lock again when this returns or throws; but
  /// after CancelledError `lock` owns nothing. **Blocks**: parks the task.
  void wait(std::unique_lock<Mutex>& lock);
  /// Waits until `predicate()` is true; calls it with the lock held. **Blocks**, **Errors**: as
  /// wait(lock).
  template <class Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }
  /// Unlocks `lock`, waits for a notification at most for `delay`, a std::chrono::duration, and
  /// locks it again, however long that takes. **Blocks**, **Errors**: as wait(lock).
  template <sched::Duration D>
  FutureStatus wait_for(std::unique_lock<Mutex>& lock, D delay) {
    return wait_until_ns(lock, sched::due_ns(scheduler_, delay));
  }
  /// Waits until `predicate()` is true, at most for `delay`; returns its last value. Calls it with
  /// the lock held. **Blocks**, **Errors**: as wait(lock).
  template <sched::Duration D, class Predicate>
  [[nodiscard]] bool wait_for(std::unique_lock<Mutex>& lock, D delay, Predicate predicate) {
    return wait_until(lock, sched::due_ns(scheduler_, delay), std::move(predicate));
  }
  /// Unlocks `lock`, waits for a notification at most until `time`, a std::chrono::time_point or a
  /// time of Team::now_ns(), and locks it again. See wait_for().
  template <sched::Deadline D>
  FutureStatus wait_until(std::unique_lock<Mutex>& lock, D time) {
    return wait_until_ns(lock, sched::due_ns(scheduler_, time));
  }
  /// Waits until `predicate()` is true, at most until `time`; returns its last value. See
  /// wait_for().
  template <sched::Deadline D, class Predicate>
  [[nodiscard]] bool wait_until(std::unique_lock<Mutex>& lock, D time, Predicate predicate) {
    const std::uint64_t due_ns = sched::due_ns(scheduler_, time);
    while (!predicate()) {
      if (wait_until_ns(lock, due_ns) == FutureStatus::timeout) return predicate();
    }
    return true;
  }
  /// Wakes the first waiter. **Blocks**: never.
  void notify_one();
  /// Wakes all waiters. **Blocks**: never.
  void notify_all();

 private:
  class Ticket;
  FutureStatus wait_until_ns(std::unique_lock<Mutex>& lock, std::uint64_t due_ns);
  template <class Wait>
  void wait_unlocked(std::unique_lock<Mutex>& lock, Wait wait);

  sched::Scheduler& scheduler_;
  const std::string name_;
  sync::Mutex mutex_;
  std::uint64_t tickets_ SHOAL_GUARDED_BY(mutex_) = 0;
  // Tickets of waiters that give up their lock, or have done so, and are not in waiters_ yet.
  std::vector<std::uint64_t> coming_ SHOAL_GUARDED_BY(mutex_);
  sync::WaiterList waiters_ SHOAL_GUARDED_BY(mutex_);
};

/// A number of permits; waiters get them in the order they came.
class Semaphore final : public sched::WaitingRoom {
 public:
  /// Makes a semaphore on the caller's rank. **Caller**: a task, handler or main function.
  explicit Semaphore(std::int64_t permits, std::string name = "a semaphore")
      : Semaphore(sched::current_scheduler("a semaphore"), permits, std::move(name)) {}
  /// Makes a semaphore on the rank of a team: `Semaphore semaphore(world, 4)`. **Caller**: any
  /// thread. **Errors**: CheckError for a negative number of permits.
  Semaphore(const sched::OnRank& team, std::int64_t permits, std::string name = "a semaphore");

  /// Takes one permit; waits until there is one. **Blocks**: parks the task. **Errors**: as
  /// sched::wait_for().
  void acquire();
  /// Takes one permit if there is one; returns whether it did. **Blocks**: never.
  [[nodiscard]] bool try_acquire() {
    sched::refuse_in_attempt("try_acquire() of a semaphore");
    return take() || sched::poll_missed();
  }
  /// Takes one permit; waits at most for `delay`, a std::chrono::duration. Returns whether it did.
  /// **Blocks**: parks the task. **Errors**: as acquire().
  template <sched::Duration D>
  [[nodiscard]] bool try_acquire_for(D delay) {
    return acquire_until_ns(sched::due_ns(scheduler(), delay));
  }
  /// Takes one permit; waits at most until `time`, a std::chrono::time_point or a time of
  /// Team::now_ns(). See try_acquire_for().
  template <sched::Deadline D>
  [[nodiscard]] bool try_acquire_until(D time) {
    return acquire_until_ns(sched::due_ns(scheduler(), time));
  }
  /// Returns `count` permits, and wakes waiters. **Blocks**: never. **Errors**: CheckError, and
  /// nothing changes, for a count below 1 and when there would be more than 2^63 - 1 permits.
  void release(std::int64_t count = 1);

  bool enlist(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;

 private:
  bool take();
  [[nodiscard]] bool acquire_until_ns(std::uint64_t due_ns);

  const std::string name_;
  std::int64_t permits_ SHOAL_GUARDED_BY(mutex_);
};

/// Reusable barrier of `count` tasks of one rank. (Team::barrier() is the barrier of ranks.)
class Barrier final {
 public:
  /// Makes a barrier on the caller's rank. **Caller**: a task, handler or main function.
  explicit Barrier(std::int64_t count, std::string name = "a barrier")
      : Barrier(sched::current_scheduler("a barrier"), count, std::move(name)) {}
  /// Makes a barrier on the rank of a team: `Barrier barrier(world, 4)`. **Caller**: any thread.
  /// **Errors**: CheckError for a count below 1.
  Barrier(const sched::OnRank& team, std::int64_t count, std::string name = "a barrier");

  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Arrives, and waits until `count` tasks have arrived. A caller that leaves by an exception does
  /// not count as arrived: the main function may catch a StuckError, repair the cause, and arrive
  /// again. **Blocks**: parks the task. **Errors**: as sched::wait_for().
  void arrive_and_wait();

 private:
  class Phase;
  sched::Scheduler& scheduler_;
  const std::string name_;
  const std::int64_t count_;
  mutable sync::Mutex mutex_;
  sync::WaiterList waiters_ SHOAL_GUARDED_BY(mutex_);
  std::int64_t missing_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t phase_ SHOAL_GUARDED_BY(mutex_) = 0;  // number of the current one
};

/// Latch: counts down to zero, once; then all waiters continue.
class Latch : public sched::WaitingRoom {
 public:
  virtual ~Latch() = default;
  /// Makes a latch on the caller's rank. **Caller**: a task, handler or main function.
  explicit Latch(std::int64_t count, std::string name = "a latch")
      : Latch(sched::current_scheduler("a latch"), count, std::move(name)) {}
  /// Makes a latch on the rank of a team: `Latch latch(world, 4)`. **Caller**: any thread.
  /// **Errors**: CheckError for a negative count.
  Latch(const sched::OnRank& team, std::int64_t count, std::string name = "a latch");

  /// Adds to the count. **Blocks**: never. **Errors**: CheckError, and nothing changes, when the
  /// count is zero already (waiters may have destroyed the latch), for a count below 1, and when
  /// the count would exceed 2^63 - 1.
  void add(std::int64_t count);
  /// Subtracts from the count; wakes all waiters when it reaches zero. **Blocks**: never.
  /// **Errors**: CheckError when the count would fall below zero.
  void count_down(std::int64_t count = 1);
  /// Returns whether wait() would return at once.
  [[nodiscard]] bool is_zero() const;
  /// Waits until the count is zero. **Blocks**: parks the task. **Errors**: as sched::wait_for().
  void wait();
  /// Waits until the count is zero, at most for `delay`, a std::chrono::duration. **Blocks**,
  /// **Errors**: as wait().
  template <sched::Duration D>
  [[nodiscard]] FutureStatus wait_for(D delay) {
    return wait_until_ns(sched::due_ns(scheduler(), delay));
  }
  /// Waits until the count is zero, at most until `time`, a std::chrono::time_point or a time of
  /// Team::now_ns(). See wait_for().
  template <sched::Deadline D>
  [[nodiscard]] FutureStatus wait_until(D time) {
    return wait_until_ns(sched::due_ns(scheduler(), time));
  }

  bool enlist(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;

 private:
  [[nodiscard]] FutureStatus wait_until_ns(std::uint64_t due_ns);

  const std::string name_;
  std::int64_t count_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal
