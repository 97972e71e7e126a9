#pragma once
// States of teams at one moment, for reports.

#include <shoal/detail/sched/task.hpp>
#include <shoal/rank.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "team/detector.hpp"

namespace shoal::team {

/// The maker of a Hold: a task, or the main function.
struct HoldMaker {
  std::string text;      // "task 'x', at a.cpp:12"
  bool is_main = false;  // the main function
  auto operator<=>(const HoldMaker&) const = default;
};
/// Holds of one maker.
struct HoldsMade {
  HoldMaker maker;
  int count = 0;
};

/// Tasks of a team on one rank, for reports: one that waits has not ended, while completion
/// detection counts it as finished until it is woken.
struct TasksHere {
  std::uint64_t created = 0;
  std::uint64_t ended = 0;
  [[nodiscard]] std::uint64_t open() const { return created - ended; }
};

/// Collective operations of a team that one rank has called.
struct TeamCalls {
  /// Wait of the member: wait(), or that for the end of the team; or it has left.
  enum class Wait : std::uint8_t { none, in_wait, at_end, left };

  std::uint64_t team = 0;   // 0: the world
  std::string name;         // "team 'x'"
  std::uint64_t begun = 0;  // number of collective operations so far, without wait()
  std::vector<std::pair<std::uint64_t, std::string>> open;  // of these, that have not ended here
  Wait wait = Wait::none;
  std::uint64_t epoch = 0;   // number of waits that have ended
  std::vector<int> members;  // ranks in the world; of a large team, and of the world, none

  template <class Archive>
  void serialize(Archive& ar) {
    ar(team, name, begun, open, wait, epoch, members);
  }
};

/// A member of a team.
struct TeamState {
  std::string name;  // "team 'x'"
  Rank rank;         // in the team
  int size = 0;
  std::string waits_in;        // "wait()", a collective operation, or "" if no task waits in it
  std::uint64_t since_ns = 0;  // it does
  sched::TaskScope::Totals totals;
  TasksHere tasks;
  bool failed = false;
  std::vector<HoldsMade> holds;
  TeamCalls calls;
};

/// A team, with those nested in it, on one rank.
struct TeamTreeState {
  sched::TaskScope::Totals totals;
  TasksHere tasks;
  std::uint64_t held = 0;               // messages for handlers that do not exist here yet
  int holds = 0;                        // they count as created tasks
  std::vector<HoldsMade> holds_made{};  // as in TeamState
  std::string main_in;      // call in which the main function waits: "wait()", a collective; or ""
  bool main_final = false;  // it has ended, and takes part in the others' waits
  std::uint64_t main_since_ns = 0;
  std::string failure;  // of the team, if it has failed
  DetectionState detection;
  std::vector<std::string> waiting;  // lines that name what waits
  TeamCalls calls;
  std::vector<TeamState> teams;  // nested ones, outer ones first
};

}  // namespace shoal::team
