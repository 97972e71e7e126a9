#include "term/scope_reports.hpp"

#include "am/backlog.hpp"
#include "am/messenger.hpp"
#include "term/scope_counts.hpp"
#include "term/scope_tree.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::term {

namespace {

/// The lines of all sources about what waits on this rank.
/// `stuck`: about shared teams too, as another member may wait for their end.
std::vector<std::string> describe_waiting(const ScopeCore& scope, bool stuck)
    SHOAL_REQUIRES(scope.mutex) {
  std::vector<std::string> lines =
      scope.messenger().backlog().describe(scope.channel().team().id());
  if (scope.is_world()) {
    for (std::string& line : scope.scheduler().waiting().describe()) {
      lines.push_back(std::move(line));
    }
  }
  if (const std::uint64_t count = scope.outside.unacknowledged(); count > 0) {
    lines.push_back(fmt::format("{} of its messages to other teams were not handled", count));
  }
  scope.sources.describe(stuck || scope.member.stands_finally(), lines);
  if (!scope.is_world()) {
    for (std::string& line : lines) line = fmt::format("{}: {}", scope.describe(), line);
  }
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) {
    const sync::Lock lock(inner->mutex);
    for (std::string& line : describe_waiting(*inner, stuck)) lines.push_back(std::move(line));
  }
  return lines;
}

void add_team_states(const ScopeCore& scope, std::vector<TeamState>& states) {
  const messaging::Channel& channel = scope.channel();
  TeamState state{scope.describe(),  channel.team().rank(), channel.team().size(), "", 0,
                  all_totals(scope), scope.has_failed()};
  {
    const sync::Lock lock(scope.mutex);
    const MemberWait& member = scope.member;
    if (member.stands()) {
      const Standing& standing = member.standing();
      const bool at_end = standing.is_wait() && member.stands_finally();
      state.waits_in = at_end ? "its end" : standing.text();
      state.since_ns = member.since_ns();
    }
  }
  states.push_back(std::move(state));
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) add_team_states(*inner, states);
}

}  // namespace

ScopeState state_of(const ScopeCore& scope) {
  ScopeState state;
  state.held = all_held(scope);
  state.holds = scope.holds.count.load(std::memory_order_relaxed);
  const sync::Lock lock(scope.mutex);
  state.totals = all_totals(scope);
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) {
    add_team_states(*inner, state.teams);
  }
  if (scope.member.stands()) {
    state.main_in = scope.member.standing().text();
    state.main_since_ns = scope.member.since_ns();
    state.main_final = scope.member.stands_finally();
  }
  if (const auto& error = scope.failure.error(); error.has_value()) state.failure = error->what();
  state.detection = scope.detector.state();
  state.waiting = describe_waiting(scope, false);
  return state;
}

std::vector<std::string> describe_stuck(const ScopeCore& scope) {
  std::vector<std::string> lines;
  const MemberWait& member = scope.member;
  if (member.stands() && !member.standing().is_wait()) {
    const Standing& standing = member.standing();
    lines.push_back(fmt::format("the main function waits in {}, which not every rank called{}",
                                standing.text(), standing.root < 0 ? "" : " with this root"));
  }
  for (std::string& line : describe_waiting(scope, true)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace shoal::term
