#pragma once
// State of the core of a team on one rank. Each job of it is a file of functions over the state.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/waiter.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/team/sources.hpp>

#include "team/control_message.hpp"
#include "team/detector.hpp"
#include "team/team_state.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::team {

using StuckLine = std::pair<int, std::string>;  // rank, and what waits there

/// State of a member of a nested team, which decides whether it is about to change. The entry of
/// the world has only the number of teams made in it.
struct StuckTeam {
  std::uint64_t team = 0;
  std::uint64_t outer = 0;   // team that it was made in
  std::uint64_t number = 0;  // among the teams that all members of that make; 0: made by one rank
  std::uint64_t made = 0;    // number of the last one that was made in it here
  std::uint64_t size = 0;    // of the team
  int first = 0;             // rank in the world of its first member
  int rank = 0;              // of this one
  std::uint64_t state = 0;   // the same on all members, unless some are about to hear of a change
  std::uint64_t count = 0;   // of unsatisfied things
  std::uint64_t final = 0;   // 1: it waits for the end of the team
};

/// Report of one rank, or of a subtree.
struct StuckPart {
  std::vector<StuckLine> lines;
  std::vector<StuckTeam> teams;
  std::uint64_t left_out = 0;
  bool tasks_parked = false;
  bool changed = false;  // since the snapshot that was reported
};

/// Gathers the parts of a subtree. Guarded by the lock of the team.
class StuckReport {
 public:
  /// Begins a report of `parts` parts, including that of this rank.
  void begin(std::size_t parts, bool tasks_parked_here);
  /// True: it was the last one.
  bool add(StuckPart part);
  /// Returns the report of the subtree, once all parts are there: lines in the order of ranks, up
  /// to the limit.
  [[nodiscard]] const StuckPart& sum() const { return sum_; }
  /// Returns whether a team or a rank is about to continue, so that nothing is stuck.
  /// **Precondition**: all parts of the world are there.
  [[nodiscard]] bool is_anything_to_come() const;
  /// Returns the text of StuckError.
  [[nodiscard]] std::string text(bool checks_graphs) const;

  [[nodiscard]] bool were_tasks_parked_here() const { return tasks_parked_here_; }

 private:
  std::size_t missing_ = 0;
  bool tasks_parked_here_ = false;
  StuckPart sum_;
};

using Totals = sched::TaskScope::Totals;

/// Counts of the messages of this team into other teams, until they are acknowledged. Both counts
/// only grow; while it sends, the sender is counted as a task or handler, so that a snapshot that
/// sees its end sees its messages. **Caller**: any thread.
class OutsideMessages {
 public:
  void count_sent() { sent_.fetch_add(1, std::memory_order_release); }
  void count_acknowledged(std::uint64_t n) {
    acknowledged_.fetch_add(n, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t acknowledged() const {
    return acknowledged_.load(std::memory_order_acquire);
  }
  /// Read in this order: there are never fewer sent than acknowledged.
  [[nodiscard]] std::uint64_t unacknowledged() const {
    const std::uint64_t acknowledged = this->acknowledged();
    return sent_.load(std::memory_order_acquire) - acknowledged;
  }
  /// Adds the counts of a nested team that has ended: all of its messages are acknowledged.
  void take_over(const OutsideMessages& ended) {
    const std::uint64_t acknowledged = ended.acknowledged();
    sent_.fetch_add(acknowledged, std::memory_order_release);
    count_acknowledged(acknowledged);
  }

 private:
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> acknowledged_{0};
};

/// The first failure known on this rank, replaced by the one that the root of the team chose; and
/// the text of a stuck world. Guarded by the lock of the team.
class FailureRecord {
 public:
  [[nodiscard]] bool exists() const { return error_.has_value(); }
  [[nodiscard]] const std::optional<TaskError>& error() const { return error_; }
  /// Records the first failure; returns false if there was one, which was sent on already.
  bool record(TaskError error) {
    if (error_.has_value()) return false;
    error_.emplace(std::move(error));
    return true;
  }
  /// Records the failure that the root has chosen; returns false if it was known.
  bool replace_by_root(TaskError error) {
    if (std::exchange(from_root_, true)) return false;
    error_.emplace(std::move(error));
    return true;
  }
  [[nodiscard]] bool is_from_root() const { return from_root_; }
  void set_from_root() { from_root_ = true; }

  /// Records that the world is stuck. `late`: reported as a failure, once the parked tasks have
  /// ended.
  void set_stuck(std::string text, bool late) {
    stuck_text_ = std::move(text);
    stuck_told_late_ = stuck_told_late_ || late;
  }
  [[nodiscard]] const std::string& stuck_text() const { return stuck_text_; }
  [[nodiscard]] bool is_stuck_told_late() const { return stuck_told_late_; }

  /// Returns the error that the member throws for the failure, from now on another one if this was
  /// that of a stuck world.
  [[nodiscard]] std::exception_ptr take() {
    if (!stuck_told_late_) return std::make_exception_ptr(TaskError(*error_));
    std::exception_ptr stuck = std::make_exception_ptr(StuckError(stuck_text_));
    set_told();
    return stuck;
  }
  /// Records that the member throws the failure.
  void set_told() { stuck_told_late_ = false; }

 private:
  std::optional<TaskError> error_;
  bool from_root_ = false;
  std::string stuck_text_;
  bool stuck_told_late_ = false;  // the failure is that one
};

/// How a wait in an operation of all members ended.
enum class Outcome { running, done, failed, stuck };

/// State of the member's wait in an operation of all members: wait(), or a collective. Guarded by
/// the lock of the team.
class MemberWait {
 public:
  /// `looks_parked`: written under the lock; a hint outside.
  explicit MemberWait(std::atomic<bool>& looks_parked) : parked_(looks_parked) {}

  void begin(sync::Waiter& waiter, const WaitedOperation& what, bool final, std::uint64_t now_ns) {
    waiter_ = &waiter;
    waited_operation_ = what;
    final_ = final;
    since_ns_ = now_ns;
    outcome_ = Outcome::running;
    ++park_count_;
  }
  /// Marks the waiter as parked, unless it was removed since begin(). Only after this may detection
  /// count the member as parked.
  void settle() { set_parked(waiter_ != nullptr); }
  /// Removes the waiter, which continues by itself; returns false if it was removed before.
  bool withdraw(const sync::Waiter& waiter) {
    if (waiter_ != &waiter) return false;
    waiter_ = nullptr;
    set_parked(released_);
    return true;
  }
  /// Removes the waiter and returns it. It counts as running from now on, before it runs again.
  sync::Waiter& take(Outcome outcome) {
    set_parked(released_);
    outcome_ = outcome;
    return *std::exchange(waiter_, nullptr);
  }
  /// Ends a wait before settle(), as its operation was over before.
  void set_done() { outcome_ = Outcome::done; }
  /// Records that the member has left the team.
  void release() {
    released_ = true;
    ++park_count_;
    set_parked(true);
  }

  /// Returns whether the member waits in an operation, or has left. The waits of a main function
  /// for something else are in the counts, see TaskScope::is_main_parked().
  [[nodiscard]] bool is_parked() const {
    return parked_.load(std::memory_order_relaxed);  // written under the lock, which is held
  }
  [[nodiscard]] bool is_released() const { return released_; }
  [[nodiscard]] bool is_waiting() const { return waiter_ != nullptr; }
  [[nodiscard]] bool stands(const sync::Waiter& waiter) const { return waiter_ == &waiter; }
  /// Returns whether the member waits for the end of the team.
  [[nodiscard]] bool stands_finally() const { return waiter_ != nullptr && final_; }
  /// Returns the operation of the last wait, and the time when it began.
  [[nodiscard]] const WaitedOperation& waited_operation() const { return waited_operation_; }
  [[nodiscard]] std::uint64_t since_ns() const { return since_ns_; }
  [[nodiscard]] Outcome outcome() const { return outcome_; }
  [[nodiscard]] std::uint64_t park_count() const { return park_count_; }

 private:
  void set_parked(bool parked) { parked_.store(parked, std::memory_order_release); }

  std::atomic<bool>& parked_;
  sync::Waiter* waiter_ = nullptr;
  WaitedOperation waited_operation_;
  bool final_ = false;
  bool released_ = false;
  std::uint64_t since_ns_ = 0;
  std::uint64_t park_count_ = 0;
  Outcome outcome_ = Outcome::running;
};

/// Cores of the teams of one rank. Its lock guards the lists of nested teams of all of them.
struct TeamDirectory {
  mutable sync::Mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<CoreState>> cores SHOAL_GUARDED_BY(mutex);  // by id
  std::atomic<bool> had_nested{false};  // there were some, to any depth
  std::atomic<std::uint64_t> own_numbers{0};
  // Number of members of teams that were taken out of their wait and not woken yet. They are about
  // to go on, and no counter shows it. Raised under the lock of their team.
  std::atomic<int> wakes_due{0};
};

/// State of the core of a team. Lock order: its own lock before that of the directory, and the lock
/// of an outer team before those of nested ones.
struct CoreState {
  /// `outer`: nullptr for the world's.
  CoreState(TeamCore& team, CoreState* outer, std::string name, std::uint64_t number);
  ~CoreState();
  CoreState(const CoreState&) = delete;
  CoreState& operator=(const CoreState&) = delete;
  static CoreState& of(TeamCore& team) { return *team.state_; }

  [[nodiscard]] bool is_world() const { return outer == nullptr; }
  [[nodiscard]] bool has_failed() const { return team.failed(); }
  [[nodiscard]] Messenger& messenger() const { return team.messenger(); }
  [[nodiscard]] sched::Scheduler& scheduler() const { return team.scheduler(); }
  [[nodiscard]] std::string describe() const;

  TeamCore& team;
  CoreState* const outer;
  CoreState& world;  // the outermost one
  const std::string name;
  const std::uint64_t number;  // see TeamIdentity
  const Rank first;            // of the members, in the world
  const Tree tree;
  const std::vector<Rank> children;
  const ControlHandlers& control;

  Function<void()> completion_check;  // set before the first step
  bool checks_graphs = false;         // likewise

  mutable sync::Mutex mutex;
  std::atomic<bool> looks_parked{false};  // see MemberWait
  MemberWait member SHOAL_GUARDED_BY(mutex){looks_parked};
  Sources sources SHOAL_GUARDED_BY(mutex);
  FailureRecord failure SHOAL_GUARDED_BY(mutex);
  bool spreads_left SHOAL_GUARDED_BY(mutex) = false;  // the failure is one that a task has left
  StuckReport stuck SHOAL_GUARDED_BY(mutex);          // the world's
  const std::unique_ptr<DetectorHost> detector_host;
  Detector detector SHOAL_GUARDED_BY(mutex);
  Snapshot last_snapshot SHOAL_GUARDED_BY(mutex);
  std::atomic<bool> all_final{false};  // complete for good; written under the lock
  bool ignores_holds SHOAL_GUARDED_BY(mutex) = false;
  OutsideMessages outside;
  mutable sync::Mutex holds_mutex;  // taken under no other lock, and no other under it
  // Number of Holds of the program, by who has made them, with the place in the source.
  std::map<HoldMaker, int> hold_makers SHOAL_GUARDED_BY(holds_mutex);
  std::atomic<bool> run_has_ended{false};  // of the world's
  std::atomic<bool> has_attempts{false};   // of the world's; see TeamCore::begin_attempts()
  std::atomic<bool> failure_told{false};   // to the main function or another member

  // Given back when the world fails, perhaps for lack of memory: recording and sending the failure
  // takes some, mostly a packet for each peer in the tree.
  std::unique_ptr<std::byte[]> reserve SHOAL_GUARDED_BY(mutex);
  const std::string out_of_memory;  // the last words

  // Teams. The lock of the directory guards the next three.
  const std::unique_ptr<TeamDirectory> own_directory;  // the world's
  TeamDirectory& teams;
  std::vector<std::shared_ptr<CoreState>> nested;
  Totals left_behind;     // of nested ones that have ended
  bool is_listed = true;  // in the directory and the table of the messenger: see sweep()
  // Size of `nested`, written under that lock. Without it a hint: a team that a task makes shows
  // before the task ends.
  std::atomic<std::size_t> nested_count{0};
  std::atomic<std::uint64_t> nested_numbers{0};

  // Fields of nested teams only. Atomic ones are written under the lock.
  FailureTo failure_to = FailureTo::waiters;     // set before the first message
  std::atomic<sync::Waiter*> woken{nullptr};     // taken out, to be woken without the lock
  bool meeting SHOAL_GUARDED_BY(mutex) = false;  // a member is in an operation
  // Scope of the task that is; nullptr: the main function.
  const sched::TaskScope* waiter_scope SHOAL_GUARDED_BY(mutex) = nullptr;
  std::vector<sync::Waiter*> draining SHOAL_GUARDED_BY(mutex);  // see drain()
  std::atomic<bool> drains{false};                              // there are some
  std::vector<Rank> asking SHOAL_GUARDED_BY(mutex);             // see on_ask()
  std::atomic<bool> abandoned{false};                    // the outer team has failed, and completed
  std::unique_ptr<Team> handle SHOAL_GUARDED_BY(mutex);  // of one that was released without end()
};

// --- nested teams

/// Returns the teams nested directly in this one.
[[nodiscard]] std::vector<std::shared_ptr<CoreState>> nested_in(const CoreState& core);
/// Returns the nested team at this index, or nullptr: for loops that may miss one while others
/// end.
[[nodiscard]] std::shared_ptr<CoreState> nested_at(const CoreState& core, std::size_t index);
/// Returns the core of a team of this rank, or nullptr.
[[nodiscard]] std::shared_ptr<CoreState> find_core(CoreState& world, std::uint64_t team);
/// Enters a team in the directory, where it is found from now on.
void enter_directory(const CoreState& core);
/// Returns whether the team has ended, and nothing on this rank refers to it.
[[nodiscard]] bool has_ended(const CoreState& core);
/// Removes a team that has ended from its outer one; returns false if it is in use again.
[[nodiscard]] bool sweep(const std::shared_ptr<CoreState>& ended);

// --- completion

/// Returns the counts of this team and of all teams nested in it.
[[nodiscard]] Totals all_totals(const CoreState& core);
/// Returns whether every task of the team on this rank has ended.
[[nodiscard]] bool is_at_rest_here(const CoreState& core);
/// Returns the number of messages of the team, and of nested ones, that wait for their handlers.
[[nodiscard]] std::uint64_t all_held(const CoreState& core);
/// Returns the number of things of the team that wait, without messages that wait for their
/// handlers.
[[nodiscard]] std::uint64_t count_unsatisfied(const CoreState& core) SHOAL_REQUIRES(core.mutex);
/// Returns whether the member of the team, or of one nested in it, waits in an operation of that
/// team.
[[nodiscard]] bool is_parked(const CoreState& core) SHOAL_REQUIRES(core.mutex);
/// Returns the counts of this rank, if it is idle now.
[[nodiscard]] std::optional<Snapshot> take_snapshot(CoreState& core) SHOAL_REQUIRES(core.mutex);

/// Makes the services that the team provides for its detector.
[[nodiscard]] std::unique_ptr<DetectorHost> make_detector_host(CoreState& core);
/// Called when the rank may have become idle; returns whether the detector has sent a message.
bool poll_detector(CoreState& core);
/// Called when a worker of the rank has run out of work; returns whether it gave rise to something.
bool poll_idle(CoreState& world);
/// Polls the detectors of all nested teams; returns whether one of them has sent a message. Wakes
/// the members of nested teams, and removes the teams that have ended.
bool poll_nested(CoreState& core);
/// Called when nothing runs any more. `unsatisfied`: number of things that still wait.
void on_done(CoreState& core, std::uint64_t unsatisfied, bool all_final) SHOAL_REQUIRES(core.mutex);

// --- waits

/// Waits in an operation of all members of a team, and throws its outcome.
void meet(CoreState& core, const WaitedOperation& what, FunctionRef<bool()> is_over);
/// Waits until all members have called it and nothing of the team is left, or the outer team has
/// failed.
void wait_until_ended(CoreState& core);
/// Waits, in a task outside a team that has failed, until none of the team's tasks is left on
/// this rank.
void drain(CoreState& core);
/// Ends the wait of a caller outside of the team, which has failed: see TeamCore::wait_for_part().
[[noreturn]] void leave_failed(CoreState& core);
/// Starts to handle messages of the team.
void open_core(CoreState& core);

// --- the main function, the member of the world

/// Parks the main function in the operation `what` of all ranks. `start` runs once it is parked,
/// and may unpark it.
[[nodiscard]] Outcome wait_in_operation(CoreState& world, const WaitedOperation& what, bool final,
                                        FunctionRef<void()> start);
/// Waits until the main functions of all ranks have ended, see TeamCore::wait_for_end().
void wait_for_end(CoreState& world);

/// Fails the world, unless it has failed, and returns when nothing of it is left on any rank. `why`
/// is the reason of the wait in reports. **Caller**: the main function.
void end_all(CoreState& world, FunctionRef<std::string()> text, const char* why);

// --- cancellation

/// Removes the member from the operation in which it waits, if any.
void finish_park(CoreState& core, Outcome outcome) SHOAL_REQUIRES(core.mutex);
/// Wakes the member that finish_park() has removed. Called without the lock.
void wake_waiter(CoreState& core);
/// Wakes the tasks in drain(), if everything has ended.
void wake_draining(CoreState& core);

// --- objects that end while tasks may still use them

/// `source` ends: fails the team, or the world, if tasks may still use it. See TeamCore::remove().
void end_use(CoreState& core, const Unsatisfied& source) noexcept;

// --- failure

/// Calls `step`; if it throws std::bad_alloc, frees the reserve and calls it again. If that throws
/// std::bad_alloc, too, the process ends.
void insist(CoreState& core, FunctionRef<void()> step);

/// Fails the team, unless it has failed.
void fail_with(CoreState& core, std::string_view task_name, FunctionRef<std::string()> text);
/// Fails the team because an outer team has failed.
void fail_from_outside(CoreState& core, const TaskError& error);
[[nodiscard]] std::optional<TaskError> failure_of(CoreState& core);
/// Takes up the errors that tasks have left in this team and in nested ones: fails these teams.
/// Returns whether there were some.
bool take_errors(CoreState& core);
/// Fails the promises of a team that has failed, see TeamCore::give_up_promises().
void give_up_promises(CoreState& core);
/// Fails the outer team, unless the failure was thrown on a member. Called when no member waits
/// for the team any more.
void pass_failure_outwards(CoreState& core);

// Control messages. Failures go up the tree to the root, which sends them down to all ranks.
void on_failure_up(CoreState& core, Rank origin, const std::string& task_name,
                   const std::string& text);
void on_failure_down(CoreState& core, Rank origin, const std::string& task_name,
                     const std::string& text);
/// Called because messages of this team wait on `asking`, a rank of the world where the team does
/// not exist.
void on_ask(CoreState& core, Rank asking);

/// Throws the failure, and records that it was thrown on this member.
[[noreturn]] void throw_failure(CoreState& core);
/// Throws a StuckError with the list of waiting things.
[[noreturn]] void throw_stuck(CoreState& core);
/// Throws the outcome of the member's wait, if it is an error.
void throw_outcome(CoreState& core, Outcome outcome);
/// Returns the failure, if it was not thrown on this member; else nullptr.
[[nodiscard]] std::exception_ptr tell_of_failure(CoreState& core);

// --- reports

/// Begins the report of this rank's subtree: nothing runs any more, and something waits.
void begin_stuck_report(CoreState& world) SHOAL_REQUIRES(world.mutex);
/// Adds the part of a rank. The last part completes the report of the subtree.
void add_stuck_part(CoreState& world, StuckPart part) SHOAL_REQUIRES(world.mutex);
/// Called when the world is stuck. `tasks_parked`: tasks are parked on some rank.
void on_verdict(CoreState& world, const std::string& text, bool tasks_parked)
    SHOAL_REQUIRES(world.mutex);

// --- state and waiting tasks

[[nodiscard]] TeamTreeState state_of(const CoreState& core);
/// Returns lines about what a stuck world waits for on this rank.
[[nodiscard]] std::vector<std::string> describe_stuck(const CoreState& core)
    SHOAL_REQUIRES(core.mutex);

/// Returns the link that takes the messages of `attempt` to a rank of a team. They travel once the
/// attempt has succeeded, and are dropped if it fails.
[[nodiscard]] net::Link& withheld_link(sched::Attempt& attempt, TeamCore& team, Rank member,
                                       net::Lane lane);

}  // namespace shoal::team
