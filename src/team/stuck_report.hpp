#pragma once
// Report of a world that is stuck: gathered along the tree, and decided at the root.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shoal::team {

using StuckLine = std::pair<int, std::string>;  // rank, and what waits there

/// State of a member of a nested scope, which decides whether it is about to change. The entry of
/// the world has only the number of teams made in it.
struct StuckTeam {
  std::uint64_t team = 0;
  std::uint64_t outer = 0;   // team that it was made in
  std::uint64_t number = 0;  // among the teams that all members of that make; 0: made by one rank
  std::uint64_t made = 0;    // number of the last one that was made in it here
  std::uint64_t size = 0;    // of the team
  int first = 0;             // rank in the world of its first member
  int rank = 0;              // of this one
  std::uint64_t state = 0;   // the same on all members, unless some are about to hear of a change
  std::uint64_t count = 0;   // of unsatisfied things
  std::uint64_t final = 0;   // 1: it waits for the end of the team
};

/// Report of one rank, or of a subtree.
struct StuckPart {
  std::vector<StuckLine> lines;
  std::vector<StuckTeam> teams;
  std::uint64_t left_out = 0;
  bool tasks_parked = false;
  bool changed = false;  // since the snapshot that was reported
};

/// Gathers the parts of a subtree. Guarded by the lock of the scope.
class StuckReport {
 public:
  /// Begins a report of `parts` parts, including that of this rank.
  void begin(std::size_t parts, bool tasks_parked_here);
  /// True: it was the last one.
  bool add(StuckPart part);
  /// Returns the report of the subtree, once all parts are there: lines in the order of ranks, up
  /// to the limit.
  [[nodiscard]] const StuckPart& sum() const { return sum_; }
  /// Returns whether a team or a rank is about to continue, so that nothing is stuck.
  /// **Precondition**: all parts of the world are there.
  [[nodiscard]] bool is_anything_to_come() const;
  /// Returns the text of StuckError.
  [[nodiscard]] std::string text(bool checks_graphs) const;

  [[nodiscard]] bool were_tasks_parked_here() const { return tasks_parked_here_; }

 private:
  std::size_t missing_ = 0;
  bool tasks_parked_here_ = false;
  StuckPart sum_;
};

}  // namespace shoal::team
