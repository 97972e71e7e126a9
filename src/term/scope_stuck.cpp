// Stuck scopes: what waits is gathered up the tree, and the verdict is told down the tree.

#include <shoal/term/scope.hpp>

#include <shoal/sched/function_task.hpp>

#include "term/scope_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace shoal::term {

namespace {

constexpr std::size_t kStuckLinesMax = 256;  // of all ranks together

}  // namespace

// Nested scopes may be about to complete: then nothing is stuck. If one of them does so while the
// parts are gathered, either all parts show that it waits for nothing, or a later one shows that
// something has changed since the snapshot (docs/design/teams.md).
Scope::StuckPart Scope::stuck_part_here() {
  StuckPart part;
  part.tasks_parked = scheduler().waiting_count() > 0;
  part.changed = snapshot() != detector_.confirmed();
  if (part.changed) return part;
  for (std::string& line : describe_stuck()) {
    part.lines.emplace_back(messenger_.rank().value(), std::move(line));
  }
  for (const std::shared_ptr<Scope>& inner : nested()) inner->add_stuck_teams(part.teams);
  return part;
}

// One that has failed completes whatever waits in it.
void Scope::add_stuck_teams(std::vector<StuckTeam>& teams) const {
  StuckTeam here{channel_.team(), static_cast<std::uint64_t>(size())};
  {
    const sync::Lock lock(mutex_);
    if (released_) return;  // it has ended
    here.state = 2 * detector_.epoch() + (failed() ? 1 : 0);
    here.final = waiter_ != nullptr && final_ ? 1 : 0;
    here.count = failed() ? (is_parked() ? 0 : 1) : count_unsatisfied() + all_held();
  }
  teams.push_back(here);
  for (const std::shared_ptr<Scope>& inner : nested()) inner->add_stuck_teams(teams);
}

std::vector<std::string> Scope::describe_stuck() const {
  std::vector<std::string> lines;
  if (waiter_ != nullptr && !parked_in_.is_wait()) {
    lines.push_back(fmt::format("the main function waits in {}, which not every rank called",
                                parked_in_.text()));
  }
  for (std::string& line : describe_waiting()) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> Scope::describe_waiting() const {
  std::vector<std::string> lines = messenger_.describe_held(channel_.team());
  if (outer_ == nullptr) {
    for (std::string& line : scheduler().describe_waiting()) lines.push_back(std::move(line));
  }
  for (const Unsatisfied* source : sources_) {
    try {  // names are made by code of the program
      for (std::string& line : source->describe_unsatisfied()) lines.push_back(std::move(line));
    } catch (...) {
      lines.push_back(fmt::format("something waits, but to name it failed: {}",
                                  shoal::describe(std::current_exception())));
    }
  }
  if (outer_ != nullptr) {
    for (std::string& line : lines) line = fmt::format("{}: {}", describe(), line);
  }
  for (const std::shared_ptr<Scope>& inner : nested()) {
    const sync::Lock lock(inner->mutex_);
    for (std::string& line : inner->describe_waiting()) lines.push_back(std::move(line));
  }
  return lines;
}

void Scope::add_stuck_part(StuckPart part) {
  stuck_.left_out += part.left_out;
  stuck_.tasks_parked = stuck_.tasks_parked || part.tasks_parked;
  stuck_.changed = stuck_.changed || part.changed;
  std::move(part.lines.begin(), part.lines.end(), std::back_inserter(stuck_.lines));
  std::move(part.teams.begin(), part.teams.end(), std::back_inserter(stuck_.teams));
  if (--stuck_parts_missing_ > 0) return;
  std::ranges::stable_sort(stuck_.lines, {}, &StuckLine::first);
  if (stuck_.lines.size() > kStuckLinesMax) {
    stuck_.left_out += stuck_.lines.size() - kStuckLinesMax;
    stuck_.lines.resize(kStuckLinesMax);
  }
  if (!tree_.is_root()) {
    ScopeMessages::send(*this, ScopeMessages::stuck_part, tree_.parent(), stuck_.lines,
                        stuck_.teams, stuck_.left_out, stuck_.tasks_parked, stuck_.changed);
    return;
  }
  if (is_anything_to_come()) return;
  if (completion_check_) completion_check_();
  std::string text = "nothing runs any more, but tasks still wait:";
  for (const auto& [rank, line] : stuck_.lines) text += fmt::format("\n  rank {}: {}", rank, line);
  if (stuck_.left_out > 0) text += fmt::format("\n  and {} more lines", stuck_.left_out);
  if (!checks_graphs_ && text.find(" dependencies") != std::string::npos) {
    text +=
        "\n(A task that has fulfilled some of its dependencies lacks one, or it was fulfilled too "
        "often before: --check-graphs names who did that.)";
  }
  on_verdict(text, stuck_.tasks_parked);
}

// A team that waits for nothing is about to complete; one whose members are in different states has
// completed, or failed, and some are about to hear of it. All ranks look again, in the epoch that
// has begun.
bool Scope::is_anything_to_come() const {
  if (stuck_.changed) return true;
  struct Sum {
    StuckTeam first;
    std::uint64_t members = 0;
    std::uint64_t count = 0;
    bool differs = false;
    bool all_final = true;

    // Where members are missing, they have left the team, or have never made it.
    [[nodiscard]] bool is_to_come() const {
      return differs || (count == 0 && (members == first.size || all_final));
    }
  };
  std::map<std::uint64_t, Sum> sums;
  for (const StuckTeam& here : stuck_.teams) {
    Sum& sum = sums.try_emplace(here.team, Sum{here}).first->second;
    ++sum.members;
    sum.count += here.count;
    sum.differs = sum.differs || sum.first.state != here.state;
    sum.all_final = sum.all_final && here.final != 0;
  }
  return std::ranges::any_of(sums, [](const auto& sum) { return sum.second.is_to_come(); });
}

void Scope::on_verdict(const std::string& text, bool tasks_parked) {
  for (const Rank child : children_) {
    ScopeMessages::send(*this, ScopeMessages::verdict, child, text, tasks_parked);
  }
  stuck_text_ = text;
  if (!tasks_parked) {
    finish_park(Outcome::stuck);
    return;
  }
  // Tasks that stand parked may use what is on their main function's stack. They end first, with
  // their scope; then all main functions hear of this, the same on every rank.
  stuck_told_late_ = true;
  if (!stuck_parked_here_) return;
  scheduler().submit(sched::make_function_task(*this, "end", [this, text] {
    fail("the tasks that wait", std::make_exception_ptr(StuckError(text)));
  }));
}

}  // namespace shoal::term
