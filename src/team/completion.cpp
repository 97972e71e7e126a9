#include "team/core_state.hpp"
#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::team {

// --- tasks and messages

namespace {

void add_ended_and_left(const CoreState& scope, Totals& sum) {
  sum.created += scope.left_behind.created;
  sum.finished += scope.left_behind.finished;
  sum.queued += scope.left_behind.queued;
  sum.processed += scope.left_behind.processed;
  scope.team.counts.add_ended(sum);
}

void add_begun(const CoreState& scope, Totals& sum) { scope.team.counts.add_begun(sum); }

template <class Add>
void add_all(const CoreState& scope, Totals& sum, Add add) {
  add(scope, sum);
  for (const std::shared_ptr<CoreState>& inner : scope.nested) add_all(*inner, sum, add);
}

}  // namespace

Totals all_totals(const CoreState& scope) {
  if (!scope.teams.had_nested.load(std::memory_order_acquire)) return scope.team.counts.totals();
  Totals sum;
  const sync::Lock lock(scope.teams.mutex);
  add_all(scope, sum, add_ended_and_left);
  add_all(scope, sum, add_begun);
  return sum;
}

bool is_at_rest_here(const CoreState& scope) {
  const Totals totals = all_totals(scope);
  return totals.created == totals.finished;
}

std::uint64_t all_held(const CoreState& scope) {
  const UnexpectedMessages& unexpected = scope.messenger().unexpected();
  if (scope.is_world() || unexpected.count() == 0) return unexpected.count();
  std::uint64_t held = unexpected.count_of(scope.team.id());
  for (const std::shared_ptr<CoreState>& inner : nested_in(scope)) held += all_held(*inner);
  return held;
}

// --- things that wait

namespace {

std::uint64_t add_acknowledged(const CoreState& scope) {
  std::uint64_t count = scope.outside.acknowledged();
  for (const std::shared_ptr<CoreState>& inner : scope.nested) count += add_acknowledged(*inner);
  return count;
}

// Messages of the scope to others, and of nested ones, that were acknowledged. The world counts
// acknowledgements as messages. The count only grows: those of ended teams stay in it.
std::uint64_t all_acknowledged(const CoreState& scope) {
  if (scope.is_world()) return 0;
  const sync::Lock lock(scope.teams.mutex);
  return add_acknowledged(scope);
}

std::uint64_t count_sources(const CoreState& scope) SHOAL_REQUIRES(scope.mutex) {
  // one that has failed completes without
  std::uint64_t count = scope.has_failed() ? 0 : scope.outside.unacknowledged();
  count += scope.sources.count();
  for (const std::shared_ptr<CoreState>& inner : nested_in(scope)) {
    const sync::Lock lock(inner->mutex);
    count += count_sources(*inner);
  }
  return count;
}

// Not from the lists of parked tasks: their locks come before the lock of the scope.
std::uint64_t all_parked(const CoreState& scope) {
  std::uint64_t count = scope.team.parked_tasks();
  for (const std::shared_ptr<CoreState>& inner : nested_in(scope)) count += all_parked(*inner);
  return count;
}

}  // namespace

// A task that waits for the end of its own team does not keep the team from ending.
std::uint64_t count_unsatisfied(const CoreState& scope) {
  const MemberWait& member = scope.member;
  const bool in_wait =
      member.is_released() || (member.is_waiting() && member.waited_operation().is_wait());
  std::uint64_t count = in_wait ? 0 : 1;
  if (scope.is_world()) {
    count += scope.scheduler().waiting().count();
  } else {
    count += all_parked(scope);
    const sched::TaskScope* const own = scope.waiter_scope;
    if (member.is_waiting() && own != nullptr && own->is_within(scope.team) && count > 0) --count;
  }
  if (member.stands_finally()) count += scope.sources.launched_team_count();
  return count + count_sources(scope);
}

// --- the member

namespace {

// Whether a member of `team`, this one or an outer one, is parked. In a team that has failed a
// member may wait in an operation of a nested team that others never join: the wait ends when the
// outer team completes. A task of `team` in that operation does not count as a member: it was
// cancelled.
bool has_parked(const CoreState& scope, const CoreState& team) SHOAL_REQUIRES(scope.mutex) {
  const sched::TaskScope* const own = scope.waiter_scope;
  const bool is_task = &scope != &team && own != nullptr && own->is_within(team.team);
  if (!is_task && scope.member.is_parked()) return true;
  if (scope.is_world() && scope.team.is_main_parked()) return true;
  if (scope.is_world() || !scope.has_failed()) return false;
  for (const std::shared_ptr<CoreState>& inner : nested_in(scope)) {
    const sync::Lock lock(inner->mutex);
    if (!inner->member.is_released() && has_parked(*inner, team)) return true;
  }
  return false;
}

std::uint64_t count_parks(const CoreState& scope) SHOAL_REQUIRES(scope.mutex) {
  std::uint64_t count = scope.member.park_count() + scope.team.main_parks_so_far();
  if (scope.is_world() || !scope.has_failed()) return count;
  for (const std::shared_ptr<CoreState>& inner : nested_in(scope)) {
    const sync::Lock lock(inner->mutex);
    count += count_parks(*inner);
  }
  return count;
}

}  // namespace

bool is_parked(const CoreState& scope) { return has_parked(scope, scope); }

std::optional<Snapshot> take_snapshot(CoreState& scope) {
  // Read first: if no wake-up is due, tasks woken before show in the counters read below.
  if (scope.teams.wakes_due.load(std::memory_order_acquire) > 0) return std::nullopt;
  if (!is_parked(scope)) return std::nullopt;
  // Read before the totals: a hold that begins meanwhile only raises the tasks created, so it
  // cannot hide a task that runs.
  const int ignored = scope.ignores_holds ? scope.team.holds() : 0;
  const Totals now = all_totals(scope);
  if (now.created != now.finished + static_cast<std::uint64_t>(ignored)) return std::nullopt;
  // Read after the counts: what a task leaves before it counts as finished, or wakes.
  if (scope.team.left_errors() > 0 || !is_parked(scope)) return std::nullopt;
  // Read after the counts: a message that is processed in between is missing, never there twice.
  if (!scope.messenger().unexpected().rests()) return std::nullopt;
  const std::uint64_t held = all_held(scope);
  Snapshot result;
  result.counts.queued = now.queued;
  result.counts.processed = now.processed + held;
  result.counts.all_final = scope.member.is_released() || scope.member.stands_finally();
  result.counts.failed = scope.failure.exists();
  result.tasks = now.created;
  result.parks = count_parks(scope) + all_acknowledged(scope);
  // Only tasks, messages and the main function change the set of waiting things, so the sources are
  // asked only after a change of one of these.
  result.counts.unsatisfied = scope.last_snapshot.counts.unsatisfied;
  if (result != scope.last_snapshot) {
    scope.team.await_parking_threads();
    result.counts.unsatisfied = held + count_unsatisfied(scope);
    scope.last_snapshot = result;
  }
  return result;
}

namespace {

// Called with the lock of the scope held.
class ScopeDetection final : public DetectorHost {
 public:
  explicit ScopeDetection(CoreState& scope) : scope_(scope) {}

  std::optional<Snapshot> snapshot() override SHOAL_REQUIRES(scope_.mutex) {
    return take_snapshot(scope_);
  }
  void send_report(Rank parent, const Report& report) override {
    send_control(scope_.team, scope_.control.report, parent, report);
  }
  void send_request(Rank child, const Request& request) override {
    send_control(scope_.team, scope_.control.request, child, request);
  }
  // After this, unless a wave fails, only messages of the next round come, some before this rank
  // knows that the round is over.
  void send_confirmation(Rank parent, const Confirmation& confirmation) override
      SHOAL_REQUIRES(scope_.mutex) {
    scope_.sources.tell_of_rest();
    send_control(scope_.team, scope_.control.confirmation, parent, confirmation);
  }
  void completed(const Counts& total) override SHOAL_REQUIRES(scope_.mutex) {
    const bool failed = scope_.failure.exists();
    // Only the world's scope decides that something is stuck: a team may wait for a task outside
    // it.
    if (!scope_.is_world() && total.unsatisfied > 0 && !failed) return;
    // A rank without the failure may continue when a nested team completes; it will report.
    if (failed && !total.failed) return;
    const bool is_final_word = total.unsatisfied == 0 || failed;
    if (is_final_word && scope_.completion_check) scope_.completion_check();
    scope_.sources.tell_of_rest();
    on_done(scope_, total.unsatisfied, total.all_final);
  }

 private:
  CoreState& scope_;
};

}  // namespace

std::unique_ptr<DetectorHost> make_detector_host(CoreState& scope) {
  return std::make_unique<ScopeDetection>(scope);
}

bool poll_detector(CoreState& scope) {
  // A hint is enough: the worker that parks the main function goes idle after it.
  const bool looks_parked =
      scope.looks_parked.load(std::memory_order_acquire) || scope.team.is_main_parked();
  if (!looks_parked && (scope.is_world() || !scope.has_failed())) return false;
  const sync::Lock lock(scope.mutex);
  // Others may have left: a report would wait there for a team that does not come.
  if (!scope.is_world() && scope.all_final) return false;
  return scope.detector.on_idle();
}

bool poll_idle(CoreState& world) {
  bool did = take_errors(world);
  if (world.teams.had_nested.load(std::memory_order_acquire)) did = poll_nested(world) || did;
  return poll_detector(world) || did;
}

bool poll_nested(CoreState& scope) {
  bool did = false;
  std::size_t index = 0;
  while (const std::shared_ptr<CoreState> inner = nested_at(scope, index)) {
    did = poll_nested(*inner) || did;
    did = poll_detector(*inner) || did;
    wake_waiter(*inner);
    wake_draining(*inner);
    if (has_ended(*inner) && sweep(inner)) {
      did = true;
    } else {
      ++index;
    }
  }
  return did;
}

void on_done(CoreState& scope, std::uint64_t unsatisfied, bool all_final) {
  for (const Rank child : scope.children) {
    send_control(scope.team, scope.control.done, child, unsatisfied, all_final);
  }
  scope.all_final = all_final;
  scope.detector.begin_epoch();
  const std::vector<std::shared_ptr<const void>> not_used_any_more = scope.sources.take_kept();
  if (scope.failure.exists()) {
    finish_park(scope, Outcome::failed);
  } else if (unsatisfied == 0) {
    finish_park(scope, Outcome::done);
  } else {
    begin_stuck_report(scope);
  }
}

}  // namespace shoal::team
