#pragma once
// States of teams at one moment, for reports.

#include <shoal/detail/sched/task.hpp>
#include <shoal/rank.hpp>

#include <cstdint>
#include <string>
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

/// A member of a team.
struct TeamState {
  std::string name;  // "team 'x'"
  Rank rank;         // in the team
  int size = 0;
  std::string waits_in;        // "wait()", a collective operation, or "" if no task waits in it
  std::uint64_t since_ns = 0;  // it does
  sched::TaskScope::Totals totals;
  bool failed = false;
  std::vector<HoldsMade> holds;
};

/// A team, with those nested in it, on one rank.
struct TeamTreeState {
  sched::TaskScope::Totals totals;
  std::uint64_t held = 0;               // messages for handlers that do not exist here yet
  int holds = 0;                        // they count as created tasks
  std::vector<HoldsMade> holds_made{};  // as in TeamState
  std::string main_in;      // call in which the main function waits: "wait()", a collective; or ""
  bool main_final = false;  // it has ended, and takes part in the others' waits
  std::uint64_t main_since_ns = 0;
  std::string failure;  // of the team, if it has failed
  DetectionState detection;
  std::vector<std::string> waiting;  // lines that name what waits
  std::vector<TeamState> teams;      // nested ones, outer ones first
};

}  // namespace shoal::team
