#include "team/core_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace shoal::team {

namespace {

constexpr std::size_t kLinesMax = 256;  // of all ranks together

/// Teams of all ranks in a world that is quiescent.
class StuckTeams {
 public:
  explicit StuckTeams(const std::vector<StuckTeam>& members) {
    for (const StuckTeam& here : members) {
      here_.emplace(std::pair(here.team, here.rank), here);
      if (here.team == 0) continue;  // the world's
      Sum& sum = sums_.try_emplace(here.team, Sum{here}).first->second;
      ++sum.members;
      sum.count += here.count;
      sum.differs = sum.differs || sum.first.state != here.state;
      sum.all_final = sum.all_final && here.final != 0;
    }
  }
  /// A team that waits for nothing is about to complete. A team with members in different states
  /// has completed or failed, and some members are about to learn of it.
  [[nodiscard]] bool is_anything_to_come() const {
    return std::ranges::any_of(sums_, [this](const auto& sum) { return is_to_come(sum.second); });
  }

 private:
  struct Sum {
    StuckTeam first;  // any member
    std::uint64_t members = 0;
    std::uint64_t count = 0;
    bool differs = false;
    bool all_final = true;
  };
  [[nodiscard]] bool is_to_come(const Sum& sum) const {
    if (sum.differs) return true;
    if (sum.count > 0) return false;
    if (sum.members == sum.first.size) return true;
    // Some members are missing. If the first one is, it has either left the team, and the others
    // may soon leave, or never made it, and they wait for ever.
    return sum.all_final && has_left(sum.first, sum.first.first);
  }
  /// A rank that belongs to the team has left it.
  [[nodiscard]] bool has_left(const StuckTeam& team, int rank) const {
    if (here_.contains({team.team, rank})) return false;
    if (team.number == 0) return true;  // its invitation has come
    const auto outer = here_.find({team.outer, rank});
    if (outer != here_.end()) return outer->second.made >= team.number;
    const auto other = sums_.find(team.outer);  // a member that knows the outer team
    return other == sums_.end() || has_left(other->second.first, rank);
  }

  std::map<std::pair<std::uint64_t, int>, StuckTeam> here_;  // by team and rank
  std::map<std::uint64_t, Sum> sums_;                        // by team
};

}  // namespace

void StuckReport::begin(std::size_t parts, bool tasks_parked_here) {
  missing_ = parts;
  tasks_parked_here_ = tasks_parked_here;
  sum_ = {};
}

bool StuckReport::add(StuckPart part) {
  sum_.left_out += part.left_out;
  sum_.tasks_parked = sum_.tasks_parked || part.tasks_parked;
  sum_.changed = sum_.changed || part.changed;
  std::move(part.lines.begin(), part.lines.end(), std::back_inserter(sum_.lines));
  std::move(part.teams.begin(), part.teams.end(), std::back_inserter(sum_.teams));
  if (--missing_ > 0) return false;
  std::ranges::stable_sort(sum_.lines, {}, &StuckLine::first);
  if (sum_.lines.size() > kLinesMax) {
    sum_.left_out += sum_.lines.size() - kLinesMax;
    sum_.lines.resize(kLinesMax);
  }
  return true;
}

bool StuckReport::is_anything_to_come() const {
  return sum_.changed || StuckTeams(sum_.teams).is_anything_to_come();
}

std::string StuckReport::text(bool checks_graphs) const {
  std::string text = "nothing runs any more, but tasks still wait:";
  for (const auto& [rank, line] : sum_.lines) text += fmt::format("\n  rank {}: {}", rank, line);
  if (sum_.left_out > 0) text += fmt::format("\n  and {} more lines", sum_.left_out);
  if (!checks_graphs && text.find(" dependencies") != std::string::npos) {
    text +=
        "\n(A task with some fulfilled dependencies lacks another, or was fulfilled too often "
        "before: --check-graphs names the caller.)";
  }
  return text;
}

}  // namespace shoal::team
