#include "term/scope_stuck.hpp"

#include <shoal/detail/sched/function_task.hpp>

#include "am/messenger.hpp"
#include "term/scope_counts.hpp"
#include "term/scope_park.hpp"
#include "term/scope_reports.hpp"
#include "term/scope_tree.hpp"

#include <utility>

namespace shoal::term {

namespace {

// Without what is guarded.
StuckTeam stuck_team(const ScopeCore& scope) {
  const messaging::Channel& channel = scope.channel();
  StuckTeam here;
  here.team = channel.team().id();
  here.outer = scope.is_world() ? 0 : scope.outer->channel().team().id();
  here.number = scope.number;
  here.made = scope.nested_numbers;
  here.size = static_cast<std::uint64_t>(channel.team().size());
  here.first = scope.first.value();
  here.rank = scope.messenger().rank().value();
  return here;
}

// One that has failed completes whatever waits in it.
void add_stuck_teams(const ScopeCore& scope, std::vector<StuckTeam>& teams) {
  StuckTeam here = stuck_team(scope);
  {
    const sync::Lock lock(scope.mutex);
    if (scope.member.is_released()) return;  // it has ended
    const bool failed = scope.has_failed();
    here.state = 2 * scope.detector.epoch() + (failed ? 1 : 0);
    here.final = scope.member.stands_finally() ? 1 : 0;
    here.count = failed ? (is_parked(scope) ? 0 : 1) : count_unsatisfied(scope) + all_held(scope);
  }
  teams.push_back(here);
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) add_stuck_teams(*inner, teams);
}

// Nested scopes may be about to complete: then nothing is stuck. If one of them does so while the
// parts are gathered, either all parts show that it waits for nothing, or a later one shows that
// something has changed since the snapshot (docs/design/teams.md). So the teams are looked at
// before the snapshot: one that completes in between makes that another one.
StuckPart stuck_part_here(ScopeCore& world) SHOAL_REQUIRES(world.mutex) {
  StuckPart part;
  part.tasks_parked = world.scheduler().waiting().count() > 0;
  part.teams.push_back(stuck_team(world));
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(world)) {
    add_stuck_teams(*inner, part.teams);
  }
  part.changed = take_snapshot(world) != world.detector.confirmed();
  if (part.changed) return part;
  for (std::string& line : describe_stuck(world)) {
    part.lines.emplace_back(world.messenger().rank().value(), std::move(line));
  }
  return part;
}

}  // namespace

void begin_stuck_report(ScopeCore& world) {
  StuckPart part = stuck_part_here(world);
  world.stuck.begin(world.children.size() + 1, part.tasks_parked);
  add_stuck_part(world, std::move(part));
}

void add_stuck_part(ScopeCore& world, StuckPart part) {
  if (!world.stuck.add(std::move(part))) return;
  const StuckPart& sum = world.stuck.sum();
  if (!world.tree.is_root()) {
    send_control(world.channel(), world.control.stuck_part, world.tree.parent(), sum.lines,
                 sum.teams, sum.left_out, sum.tasks_parked, sum.changed);
    return;
  }
  // All ranks look again, in the epoch that has begun.
  if (world.stuck.is_anything_to_come()) return;
  if (world.completion_check) world.completion_check();
  on_verdict(world, world.stuck.text(world.checks_graphs), sum.tasks_parked);
}

// Parked tasks may use objects on their main function's stack. They end first, with their scope;
// then all main functions get this error, the same on every rank.
void on_verdict(ScopeCore& world, const std::string& text, bool tasks_parked) {
  for (const Rank child : world.children) {
    send_control(world.channel(), world.control.verdict, child, text, tasks_parked);
  }
  world.failure.set_stuck(text, tasks_parked);
  if (!tasks_parked) return finish_park(world, Outcome::stuck);
  if (!world.stuck.were_tasks_parked_here()) return;
  Scope& facade = world.facade;
  world.scheduler().submit(sched::make_function_task(facade, "end", [&facade, text] {
    facade.fail("the tasks that wait", std::make_exception_ptr(StuckError(text)));
  }));
}

}  // namespace shoal::term
