#include "team/core_state.hpp"
#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::team {

// --- tasks and messages

namespace {

void add_ended_and_left(const CoreState& core, Totals& sum) {
  sum.created += core.left_behind.created;
  sum.finished += core.left_behind.finished;
  sum.queued += core.left_behind.queued;
  sum.processed += core.left_behind.processed;
  core.team.counts.add_ended(sum);
}

void add_begun(const CoreState& core, Totals& sum) { core.team.counts.add_begun(sum); }

template <class Add>
void add_all(const CoreState& core, Totals& sum, Add add) {
  add(core, sum);
  for (const std::shared_ptr<CoreState>& inner : core.nested) add_all(*inner, sum, add);
}

}  // namespace

Totals all_totals(const CoreState& core) {
  if (!core.teams.had_nested.load(std::memory_order_acquire)) return core.team.counts.totals();
  Totals sum;
  const sync::Lock lock(core.teams.mutex);
  add_all(core, sum, add_ended_and_left);
  add_all(core, sum, add_begun);
  return sum;
}

bool is_at_rest_here(const CoreState& core) {
  const Totals totals = all_totals(core);
  return totals.created == totals.finished;
}

std::uint64_t all_held(const CoreState& core) {
  const UnexpectedMessages& unexpected = core.messenger().unexpected();
  if (core.is_world() || unexpected.count() == 0) return unexpected.count();
  std::uint64_t held = unexpected.count_of(core.team.id());
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) held += all_held(*inner);
  return held;
}

// --- things that wait

namespace {

std::uint64_t add_acknowledged(const CoreState& core) {
  std::uint64_t count = core.outside.acknowledged();
  for (const std::shared_ptr<CoreState>& inner : core.nested) count += add_acknowledged(*inner);
  return count;
}

// Messages of the team to others, and of nested ones, that were acknowledged. The world counts
// acknowledgements as messages. The count only grows: those of ended teams stay in it.
std::uint64_t all_acknowledged(const CoreState& core) {
  if (core.is_world()) return 0;
  const sync::Lock lock(core.teams.mutex);
  return add_acknowledged(core);
}

std::uint64_t count_sources(const CoreState& core) SHOAL_REQUIRES(core.mutex) {
  // one that has failed completes without
  std::uint64_t count = core.has_failed() ? 0 : core.outside.unacknowledged();
  count += core.sources.count();
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) {
    const sync::Lock lock(inner->mutex);
    count += count_sources(*inner);
  }
  return count;
}

// Not from the lists of parked tasks: their locks come before the lock of the team.
std::uint64_t all_parked(const CoreState& core) {
  std::uint64_t count = core.team.parked_tasks();
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) count += all_parked(*inner);
  return count;
}

}  // namespace

// A task that waits for the end of its own team does not keep the team from ending.
std::uint64_t count_unsatisfied(const CoreState& core) {
  const MemberWait& member = core.member;
  const bool in_wait =
      member.is_released() || (member.is_waiting() && member.waited_operation().is_wait());
  std::uint64_t count = in_wait ? 0 : 1;
  if (core.is_world()) {
    count += core.scheduler().waiting().count();
  } else {
    count += all_parked(core);
    const sched::TaskScope* const own = core.waiter_scope;
    if (member.is_waiting() && own != nullptr && own->is_within(core.team) && count > 0) --count;
  }
  if (member.stands_finally()) count += core.sources.launched_team_count();
  return count + count_sources(core);
}

// --- the member

namespace {

// Whether a member of `team`, this one or an outer one, is parked. In a team that has failed a
// member may wait in an operation of a nested team that others never join: the wait ends when the
// outer team completes. A task of `team` in that operation does not count as a member: it was
// cancelled.
bool has_parked(const CoreState& core, const CoreState& team) SHOAL_REQUIRES(core.mutex) {
  const sched::TaskScope* const own = core.waiter_scope;
  const bool is_task = &core != &team && own != nullptr && own->is_within(team.team);
  if (!is_task && core.member.is_parked()) return true;
  if (core.is_world() && core.team.is_main_parked()) return true;
  if (core.is_world() || !core.has_failed()) return false;
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) {
    const sync::Lock lock(inner->mutex);
    if (!inner->member.is_released() && has_parked(*inner, team)) return true;
  }
  return false;
}

std::uint64_t count_parks(const CoreState& core) SHOAL_REQUIRES(core.mutex) {
  std::uint64_t count = core.member.park_count() + core.team.main_parks_so_far();
  if (core.is_world() || !core.has_failed()) return count;
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) {
    const sync::Lock lock(inner->mutex);
    count += count_parks(*inner);
  }
  return count;
}

}  // namespace

bool is_parked(const CoreState& core) { return has_parked(core, core); }

std::optional<Snapshot> take_snapshot(CoreState& core) {
  // Read first: if no wake-up is due, tasks woken before show in the counters read below.
  if (core.teams.wakes_due.load(std::memory_order_acquire) > 0) return std::nullopt;
  if (!is_parked(core)) return std::nullopt;
  // Read before the totals: a hold that begins meanwhile only raises the tasks created, so it
  // cannot hide a task that runs.
  const int ignored = core.ignores_holds ? core.team.holds() : 0;
  const Totals now = all_totals(core);
  if (now.created != now.finished + static_cast<std::uint64_t>(ignored)) return std::nullopt;
  // Read after the counts: what a task leaves before it counts as finished, or wakes.
  if (core.team.left_errors() > 0 || !is_parked(core)) return std::nullopt;
  // Read after the counts: a message that is processed in between is missing, never there twice.
  if (!core.messenger().unexpected().rests()) return std::nullopt;
  const std::uint64_t held = all_held(core);
  Snapshot result;
  result.counts.queued = now.queued;
  result.counts.processed = now.processed + held;
  result.counts.all_final = core.member.is_released() || core.member.stands_finally();
  result.counts.failed = core.failure.exists();
  result.tasks = now.created;
  result.parks = count_parks(core) + all_acknowledged(core);
  // Only tasks, messages and the main function change the set of waiting things, so the sources are
  // asked only after a change of one of these.
  result.counts.unsatisfied = core.last_snapshot.counts.unsatisfied;
  if (result != core.last_snapshot) {
    core.team.await_parking_threads();
    result.counts.unsatisfied = held + count_unsatisfied(core);
    core.last_snapshot = result;
  }
  return result;
}

namespace {

// Called with the lock of the team held.
class CoreDetection final : public DetectorHost {
 public:
  explicit CoreDetection(CoreState& core) : core_(core) {}

  std::optional<Snapshot> snapshot() override SHOAL_REQUIRES(core_.mutex) {
    return take_snapshot(core_);
  }
  void send_report(Rank parent, const Report& report) override {
    send_control(core_.team, core_.control.report, parent, report);
  }
  void send_request(Rank child, const Request& request) override {
    send_control(core_.team, core_.control.request, child, request);
  }
  // After this, unless a wave fails, only messages of the next round come, some before this rank
  // knows that the round is over.
  void send_confirmation(Rank parent, const Confirmation& confirmation) override
      SHOAL_REQUIRES(core_.mutex) {
    core_.sources.tell_of_rest();
    send_control(core_.team, core_.control.confirmation, parent, confirmation);
  }
  void completed(const Counts& total) override SHOAL_REQUIRES(core_.mutex) {
    const bool failed = core_.failure.exists();
    // Only the world decides that something is stuck: a team may wait for a task outside it.
    if (!core_.is_world() && total.unsatisfied > 0 && !failed) return;
    // A rank without the failure may continue when a nested team completes; it will report.
    if (failed && !total.failed) return;
    const bool is_final_word = total.unsatisfied == 0 || failed;
    if (is_final_word && core_.completion_check) core_.completion_check();
    core_.sources.tell_of_rest();
    on_done(core_, total.unsatisfied, total.all_final);
  }

 private:
  CoreState& core_;
};

}  // namespace

std::unique_ptr<DetectorHost> make_detector_host(CoreState& core) {
  return std::make_unique<CoreDetection>(core);
}

bool poll_detector(CoreState& core) {
  // A hint is enough: the worker that parks the main function goes idle after it.
  const bool looks_parked =
      core.looks_parked.load(std::memory_order_acquire) || core.team.is_main_parked();
  if (!looks_parked && (core.is_world() || !core.has_failed())) return false;
  const sync::Lock lock(core.mutex);
  // Others may have left: a report would wait there for a team that does not come.
  if (!core.is_world() && core.all_final) return false;
  return core.detector.on_idle();
}

bool poll_idle(CoreState& world) {
  bool did = take_errors(world);
  if (world.teams.had_nested.load(std::memory_order_acquire)) did = poll_nested(world) || did;
  return poll_detector(world) || did;
}

bool poll_nested(CoreState& core) {
  bool did = false;
  std::size_t index = 0;
  while (const std::shared_ptr<CoreState> inner = nested_at(core, index)) {
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

void on_done(CoreState& core, std::uint64_t unsatisfied, bool all_final) {
  for (const Rank child : core.children) {
    send_control(core.team, core.control.done, child, unsatisfied, all_final);
  }
  core.all_final = all_final;
  core.detector.begin_epoch();
  const std::vector<std::shared_ptr<const void>> not_used_any_more = core.sources.take_kept();
  if (core.failure.exists()) {
    finish_park(core, Outcome::failed);
  } else if (unsatisfied == 0) {
    finish_park(core, Outcome::done);
  } else {
    begin_stuck_report(core);
  }
}

}  // namespace shoal::team
