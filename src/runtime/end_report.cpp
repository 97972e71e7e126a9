#include "runtime/end_report.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

namespace shoal::runtime {

void say(const std::string& text) { fmt::print(stderr, "shoal: {}\n", text); }

namespace {

/// Several ranks often fail for the same reason. The world has chosen one of them; its text is
/// written by the process of its rank only.
bool is_failure(const std::string& text, const std::optional<TaskError>& failure) {
  return failure.has_value() && (text == failure->text() || text == failure->what());
}

}  // namespace

// A failure is written by the process that it began in, though a main function there may have
// caught it: one elsewhere may not, and its process does not know whether others have.
int report_errors(const std::vector<std::unique_ptr<RankRuntime>>& ranks) {
  int largest = ranks.front()->exit_code();
  int smallest = largest;
  bool failed = false;
  std::set<std::string> said;
  for (const auto& rank : ranks) {
    largest = std::max(largest, rank->exit_code());
    smallest = std::min(smallest, rank->exit_code());
    const std::optional<TaskError> failure = rank->failure();
    failed = failed || rank->error() != nullptr;
    if (failure.has_value() && failure->rank() == rank->rank()) {
      const bool is_that = rank->error() != nullptr && describe(rank->error()) == failure->text();
      say(fmt::format("error: {}", is_that ? failure->text() : failure->what()));
    }
    if (!rank->has_own_error()) continue;
    const std::string text = describe(rank->error());
    if (is_failure(text, failure) || !said.insert(text).second) continue;
    say(fmt::format("error: rank {}: the main function failed: {}", rank->rank().value(), text));
  }
  const int exit_code = largest > 0 ? largest : smallest;
  return failed ? std::max(exit_code, 1) : exit_code;
}

}  // namespace shoal::runtime
