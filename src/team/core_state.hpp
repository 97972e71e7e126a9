#pragma once
// State of the core of a team on one rank. Each job of it is a file of functions over the state.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/team/sources.hpp>

#include "team/control_message.hpp"
#include "team/detector.hpp"
#include "team/failure_record.hpp"
#include "team/member_wait.hpp"
#include "team/outside_messages.hpp"
#include "team/stuck_report.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shoal::term {

using Totals = sched::TaskScope::Totals;

/// Scopes of all teams of one rank. Its lock guards the lists of nested scopes of all of them.
struct TeamDirectory {
  /// Control message for a team that does not exist on this rank yet.
  using EarlyControl = Function<void(const std::shared_ptr<CoreState>&)>;

  mutable sync::Mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<CoreState>> scopes SHOAL_GUARDED_BY(mutex);  // by id
  std::map<std::uint64_t, std::vector<EarlyControl>> early SHOAL_GUARDED_BY(mutex);
  std::atomic<bool> had_nested{false};  // there were some, to any depth
  std::atomic<std::uint64_t> own_numbers{0};
  // Number of members of teams that were taken out of their wait and not woken yet. They are about
  // to go on, and no counter shows it. Raised under the lock of their scope.
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
  [[nodiscard]] messaging::Messenger& messenger() const { return team.messenger(); }
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
  std::atomic<bool> run_has_ended{false};  // of the world's
  std::atomic<bool> failure_told{false};   // to the main function or another member

  // Given back when the world fails, perhaps for lack of memory: recording and sending the failure
  // takes some, mostly a packet for each peer in the tree.
  std::unique_ptr<std::byte[]> reserve SHOAL_GUARDED_BY(mutex);
  const std::string out_of_memory;  // the last words

  // Teams. The lock of the directory guards the next two.
  const std::unique_ptr<TeamDirectory> own_directory;  // the world's
  TeamDirectory& teams;
  std::vector<std::shared_ptr<CoreState>> nested;
  Totals left_behind;  // of nested ones that have ended
  // Size of `nested`, written under that lock. Without it a hint: a scope that a task makes shows
  // before the task ends.
  std::atomic<std::size_t> nested_count{0};
  std::atomic<std::uint64_t> nested_numbers{0};

  // Fields of nested scopes only. Atomic ones are written under the lock.
  FailureTo failure_to = FailureTo::waiters;     // set before the first message
  std::atomic<sync::Waiter*> woken{nullptr};     // taken out, to be woken without the lock
  bool meeting SHOAL_GUARDED_BY(mutex) = false;  // a member is in an operation
  // Scope of the task that is; nullptr: the main function.
  const sched::TaskScope* waiter_scope SHOAL_GUARDED_BY(mutex) = nullptr;
  std::vector<sync::Waiter*> draining SHOAL_GUARDED_BY(mutex);  // see drain()
  std::atomic<bool> drains{false};                              // there are some
  std::vector<Rank> asking SHOAL_GUARDED_BY(mutex);             // see on_ask()
  std::atomic<bool> abandoned{false};  // the outer scope has failed, and completed
  std::unique_ptr<Team> handle SHOAL_GUARDED_BY(mutex);  // of one that was released without end()
};

}  // namespace shoal::term
