#pragma once
// Invocations that wait on one rank of a team, by context.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/object/invocation.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/list.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/team.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::object {

/// The contexts take turns: each runs up to kTakenMax invocations, and then the next context does.
/// With more than kDrainAbove invocations in the queue, a context runs all of its own. One context
/// runs one invocation at a time; those without a context are free of this, and wait for their
/// epochs apart. Its owner locks.
///
/// Invocations are in the windows of their senders until they have run. They leave the windows when
/// they, or the one that their context is at, wait for more than the turn: so every one that is in
/// a window is left to the turn's owner alone. While that waits for room, all leave.
class RunQueue {
 public:
  static constexpr std::size_t kDrainAbove = 256;
  static constexpr int kTakenMax = 16;

  /// Invocations of one context; exists while it has some, or one runs.
  struct Context {
    std::uint64_t id = 0;
    InvocationList waiting;
    bool is_busy = false;     // one runs
    bool is_ready = false;    // in the list of those that may be taken
    bool is_blocked = false;  // the first one may not run yet
    bool is_free = false;     // its invocations have no context, and wait for the epoch `id`
    bool is_parked = false;   // the one that runs waits, or has waited
    Invocation* in_window = nullptr;  // the first one that may be; those before have left
    sync::ListLink<Context> link;

    [[nodiscard]] std::unique_ptr<Invocation> pop() {
      if (in_window == waiting.first()) in_window = in_window->next;
      return waiting.pop();
    }
    void leave_windows() {
      for (; in_window != nullptr; in_window = in_window->next) in_window->leave_window();
    }
  };
  struct Taken {
    InvocationList list;  // empty: none may run
    Context* context = nullptr;
  };
  using MayRun = FunctionRef<bool(const Invocation&)>;

  void push(std::unique_ptr<Invocation> invocation);
  /// The next invocations that may run, of one context: up to kTakenMax, or those of one packet.
  /// done() ends them. Invocations for which
  /// `may_run` is false wait for retry(), with all later ones of their contexts. One without a
  /// context waits with those of its epoch.
  [[nodiscard]] Taken take(MayRun may_run);
  /// Puts the taken invocations that have not begun back to the front.
  void put_back(Taken& taken);
  void done(Context& context);
  /// The invocation of the context that runs is about to wait: those behind it leave the windows.
  void park(Context& context);
  /// All that wait, and that come, leave the windows of their senders.
  void open_windows(bool open);
  /// Tries again the invocations that could not run before `epoch`.
  void retry(std::uint32_t epoch);
  /// Moves all invocations that wait to `cleared`; done() must still be called for those that run.
  void clear(InvocationList& cleared);

  /// Returns whether there may be an invocation that may run.
  [[nodiscard]] bool is_ready() const { return !ready_.empty(); }
  /// Returns the number of invocations that wait for retry(), including those after them in their
  /// contexts.
  [[nodiscard]] std::size_t blocked_count() const;
  [[nodiscard]] const std::vector<Context*>& blocked() const { return blocked_; }
  /// Returns an invocation that waits, but not for retry(); nullptr if there is none.
  [[nodiscard]] const Invocation* example() const;
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Sets whether the section waits for all invocations: then a context runs all of its own before
  /// the next one.
  void set_draining(bool draining) { is_draining_ = draining; }

 private:
  void make_ready(Context& context, bool first = false);
  void block(Context& context);
  void block_first_free();

  [[nodiscard]] Context& context_of(std::uint64_t id);

  using Contexts = std::unordered_map<std::uint64_t, Context>;
  Contexts contexts_;
  Contexts::node_type spare_;  // of the last one that has ended: saves the memory of the next one
  Context free_;               // without a context: never busy, nor blocked
  std::map<std::uint32_t, Context> free_by_epoch_;  // blocked
  sync::List<Context, &Context::link> ready_;
  std::vector<Context*> blocked_;
  std::size_t size_ = 0;
  bool is_draining_ = false;
  bool has_open_windows_ = false;
};

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

  /// The one of the rank of `core`, made by the first call.
  [[nodiscard]] static std::shared_ptr<Turn> of(const TeamCore& core);

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
  [[nodiscard]] sched::Cancellable cancellable() const override { return sched::Cancellable::no; }

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
    [[nodiscard]] sched::Cancellable cancellable() const override { return sched::Cancellable::no; }

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
