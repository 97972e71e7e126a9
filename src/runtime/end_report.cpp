#include "runtime/end_report.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

namespace shoal::runtime {

void say(const std::string& text) { fmt::print(stderr, "shoal: {}\n", text); }

// A failure is written by the process that it began in, though a main function there may have
// caught it: one elsewhere may not, and its process does not know whether others have.
int report_errors(const std::vector<std::unique_ptr<RankRuntime>>& ranks) {
  int largest = ranks.front()->exit_code();
  int smallest = largest;
  bool failed = false;
  std::set<std::string> said;
  const auto say_once = [&said](const std::string& text) {
    if (said.insert(text).second) say("error: " + text);
  };
  for (const auto& rank : ranks) {
    largest = std::max(largest, rank->exit_code());
    smallest = std::min(smallest, rank->exit_code());
    const std::optional<TaskError> failure = rank->failure();
    failed = failed || rank->error() != nullptr;
    if (failure.has_value() && failure->rank() == rank->rank()) {
      const bool is_that = rank->error() != nullptr && describe(rank->error()) == failure->text();
      say_once(is_that ? failure->text() : failure->what());
    }
    if (rank->has_own_error()) say_once(describe(rank->error()));
  }
  const int exit_code = largest > 0 ? largest : smallest;
  return failed ? std::max(exit_code, 1) : exit_code;
}

}  // namespace shoal::runtime
