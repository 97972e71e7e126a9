#pragma once
// The scope of a team on one rank: completion, failure, and what is stuck.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/team/channel.hpp>
#include <shoal/detail/team/sources.hpp>
#include <shoal/error.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace shoal::term {

class Scope;
class TeamScope;
struct ScopeState;
struct Standing;
struct ScopeCore;

/// Receiver of the failure of a nested scope.
enum class FailureTo : std::uint8_t {
  waiters,      // members in wait(), or the caller of end_and_take_failure()
  outer_scope,  // nobody waits for the scope: its failure fails the outer one, at once
};

/// Owner of objects that use a scope.
class ScopeOwner {
 public:
  virtual ~ScopeOwner() = default;
};

/// Keeps wait() from completing, for threads that are not workers and will still submit tasks or
/// send messages.
class Hold {
 public:
  explicit Hold(Scope& scope);
  ~Hold();
  Hold(Hold&& other) noexcept : scope_(std::exchange(other.scope_, nullptr)) {}
  Hold& operator=(Hold&&) = delete;

 private:
  Scope* scope_;
};

/// One rank's share of the completion detection of a team. The ranks exchange control messages
/// along a tree over the team.
///
/// The world's scope is the outermost one. The scope of a team is nested in that of its parent, and
/// counts there as well: its counters are part of the outer one's snapshots. This class is the
/// interface of both; its parts are in src/term, one file for each job.
class Scope : public sched::TaskScope {
 public:
  ~Scope() override;

  [[nodiscard]] messaging::Messenger& messenger() const { return messenger_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return channel_.scheduler(); }
  /// Control channel and counts of this rank in the team: see Team.
  [[nodiscard]] messaging::Channel& channel() const { return channel_; }
  /// Rank in the team, and size of the team.
  [[nodiscard]] Rank rank() const { return channel_.team().rank(); }
  [[nodiscard]] int size() const { return channel_.team().size(); }
  /// "the world", or "team 'x'".
  [[nodiscard]] std::string describe() const override;
  /// Refuses a rank that the team has not. `call`: with its object, "events 'e': fire() of \"x\"".
  /// **Errors**: CheckError.
  [[noreturn]] void refuse_rank(const std::string& call, std::int64_t rank) const;

  // --- nested scopes

  /// Makes the scope of a team on this rank, which is a member. Messages for it may have arrived
  /// before. `number`: next_nested_number(), or 0 for a team that one rank makes.
  [[nodiscard]] TeamScope& nest(messaging::ChannelTeam team, std::string name, std::uint64_t number,
                                FailureTo failure);
  /// Counts the teams that were made in this scope, for names that are the same on all members.
  [[nodiscard]] std::uint64_t next_nested_number();
  /// Counts the teams that this rank has made alone.
  [[nodiscard]] std::uint64_t next_own_number();

  // --- waits

  /// Returns when no task and no message of the scope exists or can exist. Collective: for the
  /// world, over the main functions of all ranks; for a nested scope, over its members, from main
  /// functions or tasks, one at a time on each rank. **Blocks**: suspends the caller. **Errors**:
  /// TaskError, the same on every rank, when a task or handler threw; StuckError when nothing runs
  /// any more and something still waits; CheckError for another caller.
  void wait();
  /// Parks the member in the collective operation `what`, until unpark_member(), unless
  /// `is_over()`, which is called once the member is parked, returns true. **Caller**, **Errors**:
  /// as wait().
  void park_member(const Standing& what, FunctionRef<bool()> is_over);
  /// Ends park_member(). Called by the handler of the message that completes the operation.
  void unpark_member();
  /// Throws CheckError unless the caller may wait in an operation of all members: the main
  /// function, or for a nested scope also a task.
  void check_member(const char* what) const;

  // --- sources of what waits. A team that one rank has made in this scope is one: it exists on
  // this rank, and the scope does not end before. remove(): it is about to end; the caller has a
  // Hold of the scope.

  void add(Unsatisfied& source);
  /// Removes a source that ends. If tasks may still use it, the scope fails with an error that has
  /// its title; in the main function, and in a task outside the scope, this returns when these
  /// tasks have ended.
  void remove(Unsatisfied& source) noexcept;
  void add(SharedTeam& team);
  void remove(SharedTeam& team);
  /// Returns whether task graphs record the tasks that ran, to check that each runs once.
  [[nodiscard]] bool checks_graphs() const;

  // --- failure

  void fail(const std::string& task_name, const std::exception_ptr& error) override;
  [[nodiscard]] std::exception_ptr failure_error() const override;
  /// Returns the failure that all ranks got, if there was one.
  [[nodiscard]] std::optional<TaskError> failure() const;
  /// Fails all promises of a nested scope that has failed, as tasks of outer scopes may wait for
  /// them. Called again when such a promise is made afterwards. **Caller**: any thread.
  void give_up_promises() override;

  // --- counts and reports

  // A Hold counts as a task, except while its thread is in wait_for().
  void thread_parks() override;
  void thread_goes_on() override;
  std::uint64_t begin_message_outside() override;
  /// Returns the counts of this scope and of all scopes nested in it.
  [[nodiscard]] Totals all_totals() const;
  /// Returns the state of the scope for reports. It calls the functions of graphs that name tasks.
  /// **Caller**: any thread.
  [[nodiscard]] ScopeState state() const;

 protected:
  explicit Scope(messaging::Messenger& messenger);
  Scope(Scope& outer, messaging::ChannelTeam team, std::string name, std::uint64_t number);
  [[nodiscard]] ScopeCore& core() const { return *core_; }

 private:
  friend struct ScopeCore;

  messaging::Messenger& messenger_;
  mutable messaging::Channel channel_;
  const std::unique_ptr<ScopeCore> core_;
};

/// Outermost scope of a rank; the rank's main function waits in it.
class WorldScope final : public Scope {
 public:
  explicit WorldScope(messaging::Messenger& messenger);
  ~WorldScope() override;

  /// Called when the main function has ended: takes part in waits until the main functions of all
  /// ranks have ended. **Errors**: as wait(), for work that was still in progress; but no TaskError
  /// that this rank's main function already got.
  void wait_for_end();
  /// Called when the main function has thrown, before its stack unwinds: fails the scope, unless it
  /// has failed, and returns when no task and no message exists that may use that stack. Holds of
  /// this rank do not count: the objects that end them may be on that stack. **Caller**: main
  /// function. **Blocks**: suspends it, until every main function is parked.
  void end_before_unwinding(FunctionRef<std::string()> text);
  /// The main function has thrown std::bad_alloc, perhaps with a lock of shoal held that the tasks
  /// need which end_before_unwinding() would wait for: ends the process, with that text.
  void end_without_memory(FunctionRef<std::string()> text) noexcept;
  /// The workers have stopped. True: objects of the program refer to this scope, and will end
  /// later. Their calls, except for destructors, throw from now on.
  [[nodiscard]] bool end_run();

  /// Sets checks_graphs(), before the first task graph is made.
  void set_checks_graphs(bool checks);
  /// Called on the root when detection has found the scope complete or stuck, before any rank
  /// learns of it. Set before the first step; may throw nothing.
  void set_completion_check(Function<void()> check);
  /// Returns whether teams were made on this rank.
  [[nodiscard]] bool had_nested() const;

  void main_parks() override;
  void main_polls() override;
  void main_goes_on() override;
  [[noreturn]] void throw_to_main() override;

 private:
  class Listener;
  const std::unique_ptr<Listener> listener_;
};

/// Scope of a team, nested in another one.
class TeamScope final : public Scope {
 public:
  /// Starts to handle messages.
  void open();
  /// Waits until all members have called it and no task or message of the scope is left. A failure
  /// that was thrown on no member fails the outer scope. **Caller** and **Blocks**: as wait().
  void end() noexcept;
  /// Ends the team as end() does, for a caller that waits for the team from outside: returns the
  /// failure, if there was one, and does not fail the outer scope.
  [[nodiscard]] std::exception_ptr end_and_take_failure() noexcept;
  /// Gives the scope up after end(). **Lifetime**: the caller must not use it afterwards.
  void release();
  /// Gives the scope up without end(), as an outer scope has failed. `owner` is destroyed when
  /// nothing of this scope is left. **Lifetime**: the caller must not use the scope afterwards.
  void abandon(std::unique_ptr<ScopeOwner> owner);

 private:
  friend class Scope;
  using Scope::Scope;
};

}  // namespace shoal::term
