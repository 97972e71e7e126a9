#pragma once
// How results are shown: a short summary for people, and JSON for programs.

#include <shoal/shoal.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/run_meter.hpp"

namespace apps {

/// Names of ways to start ranks, in the summary.
std::string_view describe(shoal::Launch launch);

/// The first lines: the program and how it runs, then what it computes.
void print_title(std::string_view program, const shoal::World& world, std::string_view problem);
/// One line of the summary.
void print_line(std::string_view label, std::string_view text);
/// Time and speed of runs of `gflop` 10^9 operations each: the median, and the range of several.
void print_rate(std::string_view label, const std::vector<double>& seconds, double gflop);
/// A table with one line per rank, and their sum.
void print_costs(const std::vector<RankCost>& costs, int workers);

/// Output of print_title(), print_rate() and print_costs() as JSON.
nlohmann::json json_of_run(std::string_view program, const shoal::World& world,
                           const TimedRuns& runs);

}  // namespace apps
