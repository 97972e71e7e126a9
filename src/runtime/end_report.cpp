#include "runtime/end_report.hpp"

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include "env/host.hpp"
#include "sched/live.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace shoal::runtime {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit std::atomic<std::string (*)(std::string)> replace_words{nullptr};

}  // namespace

void set_words(std::string (*replace)(std::string)) { replace_words = replace; }

void say(std::string_view text) noexcept {
  std::string replaced;
  try {
    const auto replace = replace_words.load();
    if (replace != nullptr) text = replaced = replace(std::string(text));
  } catch (...) {
    // The words stay.
  }
  env::write_to_standard_error({"shoal: ", text, "\n"});
}

namespace {

/// The text of an error on `rank` without the rank, which checks name: several ranks often fail for
/// the same reason.
std::string reason_of(std::string text, Rank rank) {
  const std::string here = fmt::format(", on rank {}:", rank.value());
  if (const std::size_t at = text.find(here); at != std::string::npos) {
    text.erase(at, here.size() - 1);
  }
  return text;
}

/// The world has chosen one of the ranks that failed for the same reason; its text is written by
/// the process of its rank only.
bool is_failure(const std::string& text, Rank rank, const std::optional<TaskError>& failure) {
  return failure.has_value() &&
         (text == failure->what() ||
          reason_of(text, rank) == reason_of(failure->text(), failure->rank()));
}

}  // namespace

bool report_untaken(const std::vector<std::unique_ptr<RankRuntime>>& ranks) {
  bool any = false;
  for (const auto& rank : ranks) {
    if (rank->failure().has_value()) continue;  // which dropped its tasks
    for (const std::string& text : sched::untaken_errors(rank->scheduler())) {
      say(fmt::format("error: rank {}: {}; its future was kept beyond run()", rank->rank().value(),
                      text));
      any = true;
    }
  }
  return any;
}

// A failure is written by the process that it began in.
EndReport report_errors(const std::vector<std::unique_ptr<RankRuntime>>& ranks) {
  EndReport report;
  int largest = ranks.front()->exit_code();
  int smallest = largest;
  std::set<std::string> said;
  for (const auto& rank : ranks) {
    largest = std::max(largest, rank->exit_code());
    smallest = std::min(smallest, rank->exit_code());
    report.is_uncaught = report.is_uncaught || rank->error() != nullptr;
  }
  for (const auto& rank : ranks) {
    const std::optional<TaskError> failure = rank->failure();
    if (failure.has_value() && failure->rank() == rank->rank()) {
      const bool is_that = rank->error() != nullptr && describe(rank->error()) == failure->text();
      const std::string text = is_that ? failure->text() : failure->what();
      if (report.is_uncaught) {
        say("error: " + text);
      } else {
        report.caught_here = text;
      }
    }
    if (!rank->has_own_error()) continue;
    const std::string text = describe(rank->error());
    if (is_failure(text, rank->rank(), failure)) continue;
    if (!said.insert(reason_of(text, rank->rank())).second) continue;
    say(fmt::format("error: rank {}: the main function failed: {}", rank->rank().value(), text));
  }
  report.exit_code = largest > 0 ? largest : smallest;
  if (report.is_uncaught) report.exit_code = std::max(report.exit_code, 1);
  if (report_untaken(ranks)) report.exit_code = std::max(report.exit_code, 1);
  return report;
}

void report_caught(const EndReport& report, net::MpiTransport& transport) {
  const std::vector<std::string> all = transport.exchange(report.is_uncaught ? "uncaught" : "");
  const bool is_uncaught =
      std::any_of(all.begin(), all.end(), [](const std::string& other) { return !other.empty(); });
  if (is_uncaught && !report.caught_here.empty()) say("error: " + report.caught_here);
}

namespace {

struct RetainedRuns {
  sync::Mutex mutex;
  std::vector<std::shared_ptr<const void>> runs SHOAL_GUARDED_BY(mutex);
};

RetainedRuns& retained_runs() {
  static auto* const kept =
      new RetainedRuns;  // destructors of globals may come later than any other
  return *kept;
}

}  // namespace

void retain_run(std::shared_ptr<const void> parts) {
  const sync::Lock lock(retained_runs().mutex);
  retained_runs().runs.push_back(std::move(parts));
}

std::size_t retained_run_count() {
  const sync::Lock lock(retained_runs().mutex);
  return retained_runs().runs.size();
}

}  // namespace shoal::runtime
