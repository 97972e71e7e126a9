#pragma once
// The turn of the code that may use the representatives on one rank: one at a time.

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/team.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace shoal::object {

class Share;

/// One task of a rank at a time has it, whatever its team: a runner, which runs invocations of a
/// team, or a section, which has made representatives. A task gives it up while it waits, and takes
/// it again before it continues. Runners and other tasks that wait for it get it by turns, each
/// kind in its order: so tasks that yield to each other keep no invocation from running.
///
/// Invariant: while the turn is free, no task waits for it.
class Turn final : public sched::Waitable {
 public:
  explicit Turn(TeamCore& world);
  ~Turn() = default;

  /// The one of the rank of `channel`, made by the first call.
  [[nodiscard]] static std::shared_ptr<Turn> of(const messaging::Channel& channel);

  // **Caller**: a task.
  void acquire();
  void release();
  /// A runner begins, to which the turn was given.
  void begin_runner();
  /// Submits `runner` once it has the turn. Until then it counts as a task of its scope. Any
  /// thread.
  void give_to(std::unique_ptr<sched::Task> runner);
  /// A task that is no runner waits for it. Any thread; a task that comes later is seen next time.
  [[nodiscard]] bool is_wanted() const {
    return has_waiters_.load(std::memory_order_relaxed);  // relaxed: a hint
  }

  /// A share of the rank, until it is removed.
  void add(Share& share);
  void remove(const Share& share);
  /// The owner of the turn waits for room to send, and keeps the turn: meanwhile the windows of
  /// those whose invocations wait on this rank are open, of all teams. They may be who that room
  /// depends on.
  void owner_waits_for_room(bool begins);

  // --- sched::Waitable: the wait of tasks
  bool enlist(sync::Waiter& waiter) override;
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool ends_by_itself() const override { return true; }
  [[nodiscard]] bool is_cancellable() const override { return false; }

 private:
  /// The wait of runners that have not begun.
  class Line final : public sched::Waitable {
   public:
    explicit Line(Turn& turn) : Waitable(turn.scheduler()), turn_(turn) {}
    ~Line() = default;
    bool enlist(sync::Waiter& waiter) override;
    bool withdraw(sync::Waiter& waiter) override;
    [[nodiscard]] std::string describe() const override { return turn_.describe(); }
    [[nodiscard]] bool ends_by_itself() const override { return true; }
    [[nodiscard]] bool is_cancellable() const override { return false; }

   private:
    Turn& turn_;
  };

  [[nodiscard]] bool try_acquire();
  [[nodiscard]] sync::Waiter* pop_next() SHOAL_REQUIRES(mutex_);
  /// Fails the world if another task uses the turn, in simulated runs.
  void check_taken();

  TeamCore& world_;
  const bool checks_;
  Line line_{*this};
  std::atomic<bool> has_waiters_{false};  // written under mutex_

  sync::Mutex mutex_;
  bool taken_ SHOAL_GUARDED_BY(mutex_) = false;   // a task has the turn
  bool in_use_ SHOAL_GUARDED_BY(mutex_) = false;  // the same as the tasks tell: see check_taken()
  bool runner_is_next_ SHOAL_GUARDED_BY(mutex_) = false;
  sync::WaiterList waiters_ SHOAL_GUARDED_BY(mutex_);
  sync::WaiterList runners_ SHOAL_GUARDED_BY(mutex_);
  // Lock order: the mutexes of the shares come after this one.
  std::vector<Share*> shares_ SHOAL_GUARDED_BY(mutex_);
  bool owner_waits_for_room_ SHOAL_GUARDED_BY(mutex_) = false;
};

}  // namespace shoal::object
