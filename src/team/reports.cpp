
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/team/sources.hpp>
#include <shoal/error.hpp>
#include <shoal/team.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "sched/parked.hpp"
#include "team/coll/exchange.hpp"
#include "team/core_state.hpp"
#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::team {

namespace {

/// The lines of all sources about what waits on this rank.
/// `stuck`: about launched teams too, as another member may wait for their end.
std::vector<std::string> describe_waiting(const CoreState& core, bool stuck)
    SHOAL_REQUIRES(core.mutex) {
  std::vector<std::string> lines = core.messenger().unexpected().describe(core.team.id());
  if (core.is_world()) {
    for (std::string& line : core.scheduler().waiting().describe()) {
      lines.push_back(std::move(line));
    }
  }
  if (const std::uint64_t count = core.outside.unacknowledged(); count > 0) {
    lines.push_back(fmt::format("{} of its messages to other teams were not handled", count));
  }
  core.sources.describe(stuck || core.member.stands_finally(), lines);
  if (!core.is_world()) {
    for (std::string& line : lines) line = fmt::format("{}: {}", core.describe(), line);
  }
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) {
    const sync::Lock lock(inner->mutex);
    for (std::string& line : describe_waiting(*inner, stuck)) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<HoldsMade> holds_of(const CoreState& core) {
  std::vector<HoldsMade> holds;
  const sync::Lock lock(core.holds_mutex);
  holds.reserve(core.hold_makers.size());
  for (const auto& [maker, count] : core.hold_makers) holds.push_back({maker, count});
  return holds;
}

// Both change meanwhile.
TasksHere tasks_of(const CoreState& core) {
  const Totals totals = all_totals(core);
  const sched::Uncounted waiting = sched::uncounted_in(core.scheduler().waiting(), core.team);
  TasksHere tasks;
  tasks.created = totals.created + waiting.not_begun;
  const std::uint64_t parked = waiting.all - waiting.not_begun;
  tasks.ended = std::min(totals.finished - std::min(parked, totals.finished), tasks.created);
  return tasks;
}

// Ranks in the world of the members of a small team, without the lock: a function of the user's may
// find them.
std::vector<int> members_of(const TeamCore& team) {
  constexpr int kMembersMax = 64;
  std::vector<int> members;
  if (team.is_world() || team.size() > kMembersMax) return members;
  for (int rank = 0; rank < team.size(); ++rank) {
    members.push_back(team.map()->to_world(Rank(rank)).value());
  }
  return members;
}

TeamCalls calls_of(const CoreState& core, std::vector<int> members) SHOAL_REQUIRES(core.mutex) {
  TeamCalls calls;
  calls.team = core.team.id();
  calls.members = std::move(members);
  calls.name = core.describe();
  // Its destructor withdraws it, and then takes the lock.
  if (const auto* const exchange = core.team.services().find<Exchange>()) exchange->add_to(calls);
  calls.epoch = core.detector.epoch();
  const MemberWait& member = core.member;
  if (member.is_released()) {
    calls.wait = TeamCalls::Wait::left;
  } else if (member.is_waiting() && member.waited_operation().is_wait()) {
    calls.wait = member.stands_finally() ? TeamCalls::Wait::at_end : TeamCalls::Wait::in_wait;
  }
  return calls;
}

void add_team_states(const CoreState& core, std::vector<TeamState>& states) {
  TeamState state;
  state.name = core.describe();
  state.rank = core.team.rank();
  state.size = core.team.size();
  state.totals = all_totals(core);
  state.tasks = tasks_of(core);
  state.failed = core.has_failed();
  state.holds = holds_of(core);
  std::vector<int> members = members_of(core.team);
  {
    const sync::Lock lock(core.mutex);
    state.calls = calls_of(core, std::move(members));
    const MemberWait& member = core.member;
    if (member.is_waiting()) {
      const WaitedOperation& waited = member.waited_operation();
      const bool at_end = waited.is_wait() && member.stands_finally();
      state.waits_in = at_end ? "its end" : waited.text();
      state.since_ns = member.since_ns();
    }
  }
  states.push_back(std::move(state));
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) add_team_states(*inner, states);
}

}  // namespace

TeamTreeState state_of(const CoreState& core) {
  TeamTreeState state;
  state.held = all_held(core);
  state.holds = core.team.holds();
  state.holds_made = holds_of(core);
  state.tasks = tasks_of(core);
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) {
    add_team_states(*inner, state.teams);
  }
  std::vector<int> members = members_of(core.team);
  const sync::Lock lock(core.mutex);
  state.calls = calls_of(core, std::move(members));
  state.totals = all_totals(core);
  if (core.member.is_waiting()) {
    state.main_in = core.member.waited_operation().text();
    state.main_since_ns = core.member.since_ns();
    state.main_final = core.member.stands_finally();
  }
  if (const auto& error = core.failure.error(); error.has_value()) state.failure = error->what();
  state.detection = core.detector.state();
  state.waiting = describe_waiting(core, false);
  return state;
}

std::vector<std::string> describe_stuck(const CoreState& core) {
  std::vector<std::string> lines;
  const MemberWait& member = core.member;
  if (member.is_waiting() && !member.waited_operation().is_wait()) {
    const WaitedOperation& waited = member.waited_operation();
    lines.push_back(fmt::format("the main function waits in {}{}, which not every rank called{}",
                                waited.text(), core.scheduler().waiting().place_of_main(),
                                waited.root < 0 ? "" : " with this root"));
  }
  for (std::string& line : describe_waiting(core, true)) lines.push_back(std::move(line));
  return lines;
}

std::uint64_t Sources::count() const {
  std::uint64_t count = 0;
  for (const Unsatisfied* source : sources_) count += source->unsatisfied_count();
  return count;
}

void Sources::describe(bool with_launched_teams, std::vector<std::string>& lines) const {
  for (const Unsatisfied* source : sources_) {
    try {  // names are made by code of the program
      for (std::string& line : source->describe_unsatisfied()) lines.push_back(std::move(line));
    } catch (...) {
      lines.push_back(fmt::format("waiting work could not be named: {}",
                                  shoal::describe(std::current_exception())));
    }
  }
  if (!with_launched_teams) return;
  for (const Team* team : teams_) lines.push_back(team->describe_not_ended());
}

void Sources::tell_of_rest() const {
  for (Unsatisfied* source : sources_) source->at_rest();
}

void Sources::tell_of_attempts() const {
  for (Unsatisfied* source : sources_) source->attempts_begin();
}

bool Sources::tell_of_end() const {
  bool any = false;
  for (Unsatisfied* source : sources_) any = source->run_ended() || any;
  return any;
}

void refuse_after_run(const std::string& what) {
  throw CheckError(fmt::format(
      "{} is used after its run() has returned: each run has its own, which its main function is "
      "given, or makes and lets end",
      what));
}

void Sources::give_up(const TeamCore& failed, std::vector<GivenUp>& promises) const {
  for (Unsatisfied* source : sources_) source->give_up(failed, promises);
}

namespace {

// Without what is guarded.
StuckTeam stuck_team(const CoreState& core) {
  StuckTeam here;
  here.team = core.team.id();
  here.outer = core.is_world() ? 0 : core.outer->team.id();
  here.number = core.number;
  here.made = core.nested_numbers;
  here.size = static_cast<std::uint64_t>(core.team.size());
  here.first = core.first.value();
  here.rank = core.messenger().rank().value();
  return here;
}

// One that has failed completes whatever waits in it.
void add_stuck_teams(const CoreState& core, std::vector<StuckTeam>& teams) {
  StuckTeam here = stuck_team(core);
  {
    const sync::Lock lock(core.mutex);
    if (core.member.is_released()) return;  // it has ended
    const bool failed = core.has_failed();
    here.state = 2 * core.detector.epoch() + (failed ? 1 : 0);
    here.final = core.member.stands_finally() ? 1 : 0;
    here.count = failed ? (is_parked(core) ? 0 : 1) : count_unsatisfied(core) + all_held(core);
  }
  teams.push_back(here);
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) add_stuck_teams(*inner, teams);
}

// Nested teams may be about to complete: then nothing is stuck. If one of them does so while the
// parts are gathered, either all parts show that it waits for nothing, or a later one shows that
// something has changed since the snapshot (docs/design/teams.md). So the teams are looked at
// before the snapshot: one that completes in between makes that another one.
StuckPart stuck_part_here(CoreState& world) SHOAL_REQUIRES(world.mutex) {
  StuckPart part;
  part.tasks_parked = world.scheduler().waiting().count() > 0;
  part.teams.push_back(stuck_team(world));
  for (const std::shared_ptr<CoreState>& inner : nested_in(world)) {
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

void begin_stuck_report(CoreState& world) {
  StuckPart part = stuck_part_here(world);
  world.stuck.begin(world.children.size() + 1, part.tasks_parked);
  add_stuck_part(world, std::move(part));
}

void add_stuck_part(CoreState& world, StuckPart part) {
  if (!world.stuck.add(std::move(part))) return;
  const StuckPart& sum = world.stuck.sum();
  if (!world.tree.is_root()) {
    send_control(world.team, world.control.stuck_part, world.tree.parent(), sum.lines, sum.teams,
                 sum.left_out, sum.tasks_parked, sum.changed);
    return;
  }
  // All ranks look again, in the epoch that has begun.
  if (world.stuck.is_anything_to_come()) return;
  if (world.completion_check) world.completion_check();
  on_verdict(world, world.stuck.text(world.checks_graphs), sum.tasks_parked);
}

// Parked tasks may use objects on their main function's stack. They end first, with their team;
// then all main functions get this error, the same on every rank.
void on_verdict(CoreState& world, const std::string& text, bool tasks_parked) {
  for (const Rank child : world.children) {
    send_control(world.team, world.control.verdict, child, text, tasks_parked);
  }
  world.failure.set_stuck(text, tasks_parked);
  if (!tasks_parked) return finish_park(world, Outcome::stuck);
  if (!world.stuck.were_tasks_parked_here()) return;
  world.scheduler().submit(sched::make_function_task(world.team, "end", [&team = world.team, text] {
    team.fail("the tasks that wait", std::make_exception_ptr(StuckError(text)));
  }));
}

}  // namespace shoal::team
