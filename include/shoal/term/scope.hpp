#pragma once
// The scope of a team on one rank: completion, failure, and what is stuck.

#include <shoal/am/channel.hpp>
#include <shoal/am/messenger.hpp>
#include <shoal/base/error.hpp>
#include <shoal/base/function.hpp>
#include <shoal/sync/mutex.hpp>
#include <shoal/term/detector.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::term {

class Scope;

/// Gives a promise the failure of its scope.
using GivenUp = Function<void(const std::exception_ptr&)>;

/// Something that may be left waiting when nothing runs any more: a task graph.
class Unsatisfied {
 public:
  /// How many wait now. Any thread.
  [[nodiscard]] virtual std::uint64_t unsatisfied_count() const = 0;
  /// A few lines that name them.
  [[nodiscard]] virtual std::vector<std::string> describe_unsatisfied() const = 0;
  /// Nothing runs or travels any more: a wait() may be about to return. With a lock of the scope
  /// held.
  virtual void at_rest() {}
  /// `failed` has failed: moves out each promise of it that nothing may fulfil any more, to be
  /// given the failure. With a lock of a scope held.
  virtual void give_up(const Scope& /*failed*/, std::vector<GivenUp>& /*promises*/) {}

 protected:
  ~Unsatisfied() = default;
};

/// A member of a team at one moment, for reports.
struct TeamState {
  std::string name;  // "team 'x'"
  Rank rank;         // in the team
  int size = 0;
  std::string waits_in;        // "wait()", a collective operation, or "" if nobody waits in it
  std::uint64_t since_ns = 0;  // it does
  sched::TaskScope::Totals totals;
  bool failed = false;
};

/// State of a scope on one rank at one moment, for reports.
struct ScopeState {
  sched::TaskScope::Totals totals;
  std::uint64_t held = 0;   // messages for handlers that do not exist here yet
  int holds = 0;            // they count as created tasks
  std::string main_in;      // what the main function stands in: "wait()", a collective; "": nothing
  bool main_final = false;  // it has ended, and takes part in the others' waits
  std::uint64_t main_since_ns = 0;
  std::string failure;  // of the scope, if it has failed
  DetectionState detection;
  std::vector<std::string> waiting;  // lines that name what waits
  std::vector<TeamState> teams;      // nested ones, outer ones first
};

/// Operation that a member stands in. Its text is made for reports only.
struct Standing {
  const char* name = "";     // of a collective operation; "": wait()
  std::uint64_t number = 0;  // of the operation in its team; 0: it has none

  [[nodiscard]] bool is_wait() const { return *name == '\0'; }
  /// "barrier() (collective number 3)".
  [[nodiscard]] std::string text() const;
};

class Scope;

/// Owns what uses a scope.
class ScopeOwner {
 public:
  virtual ~ScopeOwner() = default;
};

/// Keeps wait() from completing: for threads that are not workers and will still submit or send.
class Hold {
 public:
  explicit Hold(Scope& scope);
  ~Hold();
  Hold(Hold&& other) noexcept : scope_(std::exchange(other.scope_, nullptr)) {}
  Hold& operator=(Hold&&) = delete;

 private:
  Scope* scope_;
};

/// Created and used by one rank; ranks talk by control messages along a tree over the team.
///
/// The world's scope is the outermost one. That of a team is nested in the scope of the team on
/// whose ranks it was made, and counts there as well: its counters are part of the outer one's
/// snapshots.
class Scope final : public sched::TaskScope, public messaging::IdleListener, private DetectorHost {
 public:
  explicit Scope(messaging::Messenger& messenger);
  ~Scope() override;

  [[nodiscard]] messaging::Messenger& messenger() const { return messenger_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return messenger_.scheduler(); }
  /// Rank in the team, and size of the team.
  [[nodiscard]] Rank rank() const { return channel_.rank(); }
  [[nodiscard]] int size() const { return channel_.size(); }
  /// "the world", or "team 'x'".
  [[nodiscard]] std::string describe() const;

  // --- nested scopes

  /// Makes the scope of a team on this rank, which is a member. Messages may have come before.
  [[nodiscard]] Scope& nest(messaging::ChannelTeam team, std::string name);
  /// Begins to handle messages. Nested scopes only.
  void open();
  /// Waits until all members have called it and no task or message of the scope is left. A failure
  /// that no member was told of fails the outer scope. Nested scopes only. **Caller** and
  /// **Blocks**: as wait().
  void end() noexcept;
  /// As end(), for a caller that waits for the team from outside: returns the failure, if there was
  /// one, and the outer scope does not hear of it.
  [[nodiscard]] std::exception_ptr end_and_take_failure() noexcept;
  /// Gives the scope up after end(). Nested scopes only. **Lifetime**: the caller must not use it
  /// afterwards.
  void release();
  /// As release(), without end(): an outer scope has failed. `owner` is destroyed when nothing of
  /// this scope is left.
  void abandon(std::unique_ptr<ScopeOwner> owner);
  /// Control channel and counts of this rank in the team: see Team.
  [[nodiscard]] messaging::Channel& channel() const { return channel_; }
  /// Scopes that are nested in this one and have not ended.
  [[nodiscard]] bool had_nested() const { return has_nested_.load(std::memory_order_acquire); }
  [[nodiscard]] int nested_count() const { return static_cast<int>(nested().size()); }
  /// Counts the teams that were made in this scope, for names that all members derive alike.
  [[nodiscard]] std::uint64_t next_nested_number() { return ++nested_numbers_; }
  /// Counts the teams that this rank has made alone.
  [[nodiscard]] std::uint64_t next_own_number() { return ++world_.own_numbers_; }

  /// Collective over the main functions of all ranks: returns when no task and no message exists
  /// or can exist. **Caller**: main function. **Blocks**: suspends it. **Errors**: TaskError, the
  /// same on every rank, when a task or handler threw; StuckError when nothing runs any more and
  /// something still waits; CheckError outside the main function.
  /// Of a nested scope: collective over its members, from main functions or tasks, one at a time on
  /// each rank.
  void wait();
  /// The main function has ended: takes part in waits until those of all ranks have. Errors as
  /// wait(), for what was still going on; but no TaskError that this rank's main function was told.
  void wait_for_end();
  /// The main function has thrown, and its stack still stands: fails the scope, unless it has
  /// failed, and returns when no task and no message exists that may use that stack. Holds of this
  /// rank are left out: the objects that end them may stand there. **Caller**: main function.
  /// **Blocks**: suspends it, until every main function is parked.
  void end_before_unwinding(FunctionRef<std::string()> text);

  /// Parks the main function in the collective operation `what`, unless `is_over()`,
  /// which runs once it is parked, says that it may go on. Errors as wait().
  /// In a nested scope, or a task, it parks the caller.
  void park_main(const Standing& what, FunctionRef<bool()> is_over);
  /// Ends park_main(). Called by the handler of the message that completes the operation.
  void unpark_main();

  /// Begins the count of a Hold, which end_hold() ends. Any thread.
  void begin_hold();
  void end_hold();

  /// Before the first task graph is made.
  void set_checks_graphs(bool checks) { checks_graphs_ = checks; }
  /// Task graphs remember the tasks that ran.
  [[nodiscard]] bool checks_graphs() const { return checks_graphs_; }

  void add(Unsatisfied& source);
  void remove(Unsatisfied& source);

  void fail(const std::string& task_name, const std::exception_ptr& error) override;
  /// Of a nested scope that has failed: gives the failure to all promises that it owes, which tasks
  /// of outer scopes may wait for. Called as well by who makes such a promise afterwards. Any
  /// thread.
  void give_up_promises();
  void main_parks() override;
  void main_goes_on() override;
  void thread_parks() override { end_hold(); }
  void thread_goes_on() override { begin_hold(); }
  [[noreturn]] void throw_to_main() override;
  bool on_idle() override;
  bool on_busy() override { return poll_nested(); }
  void on_unknown_team(std::uint64_t team, Rank source) override;
  /// Counts of this scope and of all that are nested in it.
  [[nodiscard]] Totals all_totals() const;
  /// **Caller**: any thread. Runs the functions of graphs that name tasks.
  [[nodiscard]] ScopeState state() const;
  /// The failure that all ranks were told of, if there was one.
  [[nodiscard]] std::optional<TaskError> failure() const;
  /// Called on the root when detection has found the scope complete or stuck, before anybody hears
  /// of it.
  /// Set before the first step; may throw nothing.
  void set_completion_check(Function<void()> check) { completion_check_ = std::move(check); }

  /// Throws CheckError unless the main function is calling.
  static void check_main(const char* what);
  /// Throws CheckError unless the caller may stand still in an operation of all members: the main
  /// function, or for a nested scope also a task.
  void check_member(const char* what) const;

 private:
  friend class Hold;
  friend struct ScopeMessages;                    // the control messages' handlers
  using StuckLine = std::pair<int, std::string>;  // rank, and what waits there
  /// A member of a nested scope, for the decision whether something is about to change in it.
  struct StuckTeam {
    std::uint64_t team = 0;
    std::uint64_t size = 0;   // of the team
    std::uint64_t state = 0;  // the same on all members, unless some are about to hear of a change
    std::uint64_t count = 0;  // of unsatisfied things
    std::uint64_t final = 0;  // 1: it waits for the end of the team
  };
  struct StuckPart {
    std::vector<StuckLine> lines;
    std::vector<StuckTeam> teams;
    std::uint64_t left_out = 0;
    bool tasks_parked = false;
    bool changed = false;  // since the snapshot that was reported
  };
  /// Control message for a team that does not exist here yet.
  using EarlyControl = Function<void(const std::shared_ptr<Scope>&)>;
  struct Teams;
  class Meeting;
  enum class Outcome { running, done, failed, stuck };

  // DetectorHost; called with mutex_ held.
  std::optional<Snapshot> snapshot() override SHOAL_REQUIRES(mutex_);
  void send_report(Rank parent, const Report& report) override SHOAL_REQUIRES(mutex_);
  void send_request(Rank child, const Request& request) override SHOAL_REQUIRES(mutex_);
  void send_confirmation(Rank parent, const Confirmation& confirmation) override
      SHOAL_REQUIRES(mutex_);
  void completed(const Counts& total) override SHOAL_REQUIRES(mutex_);

  void park(const Standing& what, bool final, FunctionRef<void()> start);
  Outcome stand(const Standing& what, bool final, FunctionRef<void()> start);
  void finish_park(Outcome outcome) SHOAL_REQUIRES(mutex_);
  void check_main_goes_on() SHOAL_REQUIRES(mutex_);
  void tell_sources_of_rest() SHOAL_REQUIRES(mutex_);
  /// The lines of all sources about what waits on this rank.
  [[nodiscard]] std::vector<std::string> describe_waiting() const SHOAL_REQUIRES(mutex_);
  [[noreturn]] void throw_failure();
  [[noreturn]] void throw_stuck();
  [[nodiscard]] std::exception_ptr take_failure();
  [[nodiscard]] std::exception_ptr tell_of_failure();
  void on_done(std::uint64_t unsatisfied, bool all_final) SHOAL_REQUIRES(mutex_);
  void fail_with(std::string_view task_name, FunctionRef<std::string()> text);
  /// Keeps the first failure. False: there was one.
  bool record(TaskError error);
  /// Ends what waits, and passes the failure on. May be repeated.
  void spread();
  /// Runs `step` again, with the reserve given back, if it throws std::bad_alloc. If it does so
  /// again, the process ends.
  void insist(FunctionRef<void()> step);
  void on_failure_up(Rank origin, const std::string& task_name, const std::string& text);
  void on_failure_down(Rank origin, const std::string& task_name, const std::string& text);
  Scope(Scope& outer, messaging::ChannelTeam team, std::string name);
  void add_stuck_part(StuckPart part) SHOAL_REQUIRES(mutex_);
  [[nodiscard]] StuckPart stuck_part_here() SHOAL_REQUIRES(mutex_);
  void add_stuck_teams(std::vector<StuckTeam>& teams) const;
  void add_team_states(std::vector<TeamState>& states) const;
  [[nodiscard]] bool is_anything_to_come() const SHOAL_REQUIRES(mutex_);
  void on_verdict(const std::string& text, bool tasks_parked) SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t count_unsatisfied() const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t count_sources() const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t all_held() const;
  [[nodiscard]] std::uint64_t all_parked() const;
  void add_ended_and_left(Totals& sum) const;
  template <class Add>
  void add_all(Totals& sum, Add add) const;
  /// Scopes nested directly in this one.
  [[nodiscard]] std::vector<std::shared_ptr<Scope>> nested() const;
  /// The scope of a team, or nullptr. World's scope only.
  [[nodiscard]] std::shared_ptr<Scope> find(std::uint64_t team);
  /// The same; where there is none, `control` is kept for it.
  [[nodiscard]] std::shared_ptr<Scope> find_or_keep(std::uint64_t team,
                                                    FunctionRef<EarlyControl()> control);
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] bool is_complete_for_good() const;
  /// Takes a scope that has ended out of this one.
  void sweep(const std::shared_ptr<Scope>& inner);
  /// Of this scope and of those nested in it: the main function waits.
  void open_all_handlers();
  bool poll_nested();
  bool poll_detector();
  void meet(const Standing& what, bool final, FunctionRef<bool()> is_over);
  Outcome stand_in_meeting(const Standing& what, bool final, FunctionRef<bool()> is_over);
  void drain();
  void wake_draining();
  [[nodiscard]] bool is_at_rest_here() const;
  /// A member of the scope, or of one nested in it, stands in an operation of that.
  [[nodiscard]] bool is_parked() const SHOAL_REQUIRES(mutex_);
  /// Of a member of `team`, this one or an outer one.
  [[nodiscard]] bool has_parked(const Scope& team) const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t count_parks() const SHOAL_REQUIRES(mutex_);
  void take_out(Outcome outcome);
  // Messages of this team wait on `asking`, a rank of the world where the team does not exist.
  void on_ask(Rank asking);
  void answer_all();
  [[nodiscard]] bool is_abandoned() const;
  void fail_from_outside(const TaskError& error);
  void pass_failure_outwards();
  void stand_until_ended();
  void wake_waiter();
  [[nodiscard]] std::vector<std::string> describe_stuck() const SHOAL_REQUIRES(mutex_);

  messaging::Messenger& messenger_;
  Scope* const outer_;  // nullptr: this is the world's
  Scope& world_;        // the outermost one
  const std::string name_;
  mutable messaging::Channel channel_;
  const Tree tree_;
  const std::vector<Rank> children_;

  Function<void()> completion_check_;
  bool checks_graphs_ = false;

  mutable sync::Mutex mutex_;
  Detector detector_ SHOAL_GUARDED_BY(mutex_);
  std::vector<Unsatisfied*> sources_ SHOAL_GUARDED_BY(mutex_);
  Snapshot last_snapshot_ SHOAL_GUARDED_BY(mutex_);

  // The main function's state.
  // In park(), or in a wait_for() like a task. Written under mutex_; a hint outside.
  std::atomic<bool> parked_{false};
  sync::Waiter* waiter_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  // Nested scopes only: a waiter that was taken out of waiter_, to be woken without the lock.
  sync::Waiter* woken_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  std::vector<sync::Waiter*> draining_ SHOAL_GUARDED_BY(mutex_);  // see drain()
  bool meeting_ SHOAL_GUARDED_BY(mutex_) = false;                 // somebody is in meet()
  // Of the task in meet(); nullptr: the main function.
  const sched::TaskScope* waiter_scope_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  Standing parked_in_ SHOAL_GUARDED_BY(mutex_);
  bool final_ SHOAL_GUARDED_BY(mutex_) = false;
  int main_waits_ SHOAL_GUARDED_BY(mutex_) = 0;  // 1: it stands in a wait_for()
  std::uint64_t parked_since_ns_ SHOAL_GUARDED_BY(mutex_) = 0;
  bool all_final_ SHOAL_GUARDED_BY(mutex_) = false;
  std::uint64_t park_count_ SHOAL_GUARDED_BY(mutex_) = 0;
  Outcome outcome_ SHOAL_GUARDED_BY(mutex_) = Outcome::running;

  // Number of Holds. Raised after each counts as a created task, so it may be too small. Lowered
  // under mutex_. A release pairs with the acquire in snapshot().
  std::atomic<int> holds_{0};
  bool ignores_holds_ SHOAL_GUARDED_BY(mutex_) = false;

  std::atomic<bool> failure_told_{false};  // to the main function or whoever waits
  std::atomic<bool> released_{false};
  std::vector<Rank> asking_ SHOAL_GUARDED_BY(mutex_);  // see on_ask()
  bool abandoned_ SHOAL_GUARDED_BY(mutex_) = false;    // the outer scope has failed, and completed
  std::unique_ptr<ScopeOwner> owner_ SHOAL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> nested_numbers_{0};
  std::atomic<std::uint64_t> own_numbers_{0};  // the world's

  // Nested scopes. The lock of the world's scope guards those of all.
  mutable sync::Mutex nesting_mutex_;
  std::vector<std::shared_ptr<Scope>> nested_;  // guarded by world_.nesting_mutex_
  // Of the world's scope, under its nesting_mutex_: the scopes of all teams of this rank, and
  // control messages for teams that do not exist here yet.
  const std::unique_ptr<Teams> teams_;
  Totals left_behind_;  // of nested ones that have ended; guarded by world_.nesting_mutex_
  std::atomic<bool> has_nested_{false};  // the world's: there were some, here or further in

  // Given back when the world fails, for want of memory perhaps: to record and tell that takes
  // some, a packet for each peer in the tree most of all.
  std::unique_ptr<std::byte[]> reserve_ SHOAL_GUARDED_BY(mutex_);
  const std::string out_of_memory_;  // the last words

  // Failure: the first one known here, replaced by the one that the root chose.
  std::optional<TaskError> error_ SHOAL_GUARDED_BY(mutex_);
  bool failure_from_root_ SHOAL_GUARDED_BY(mutex_) = false;

  // The report of a scope that is stuck, while it is gathered.
  std::size_t stuck_parts_missing_ SHOAL_GUARDED_BY(mutex_) = 0;
  StuckPart stuck_ SHOAL_GUARDED_BY(mutex_);  // of the subtree
  bool stuck_parked_here_ SHOAL_GUARDED_BY(mutex_) = false;
  std::string stuck_text_ SHOAL_GUARDED_BY(mutex_);
  bool stuck_told_late_ SHOAL_GUARDED_BY(mutex_) = false;  // the failure is that one
};

}  // namespace shoal::term
