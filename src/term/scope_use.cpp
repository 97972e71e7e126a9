#include "term/scope_use.hpp"

#include <shoal/detail/sched/park.hpp>

#include "am/messenger.hpp"
#include "term/scope_failure.hpp"
#include "term/scope_main.hpp"
#include "term/scope_member.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <string>

namespace shoal::term {

namespace {

// Tasks of the scope on this rank, without the caller, and without those of teams made on it: they
// have objects of their own.
bool do_others_run(const ScopeCore& scope) {
  const Totals totals = scope.facade.counts.totals();
  const sched::Task* const task = sched::current_task();
  const bool is_one = task != nullptr && !task->is_main() && task->scope == &scope.facade;
  const auto holds = static_cast<std::uint64_t>(scope.holds.count.load(std::memory_order_acquire));
  return totals.created > totals.finished + holds + (is_one ? 1 : 0);
}

// A task that has woken the caller may not have returned yet. Its end is no wait: it is short.
bool do_others_go_on(const ScopeCore& scope) {
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks; ++i) {
    if (!do_others_run(scope)) return false;
  }
  return true;
}

std::string describe_early_end(const ScopeCore& scope, const Unsatisfied& source,
                               std::uint64_t waiting) {
  const bool may_wait = !scope.is_world() || sched::in_main_function();
  std::string text = fmt::format(
      "{} ended before its work was done ({}): {}", source.title(),
      waiting > 0 ? fmt::format("{} left waiting", waiting) : "tasks may still use it",
      may_wait ? fmt::format("call wait() of {} before it goes out of scope", scope.describe())
               : "only a main function can wait for the world: make it there, or on a team, and "
                 "call wait() of that before it goes out of scope");
  const std::vector<std::string> lines = source.describe_unsatisfied();
  if (!lines.empty()) text += fmt::format("\n  {}", fmt::join(lines, "\n  "));
  return text;
}

void end_early(ScopeCore& scope, const Unsatisfied& source) {
  const std::uint64_t waiting = source.unsatisfied_count();
  const bool others_run = do_others_go_on(scope);
  // After a failure nothing of a graph runs that waits.
  if (!others_run && (waiting == 0 || scope.has_failed())) return;
  const auto text = [&] { return describe_early_end(scope, source, waiting); };
  if (sched::in_main_function()) {
    return end_all(scope.world, text,
                   "a destructor, after the end of all tasks that may use the object");
  }
  // The exception on its way fails the scope, and says more.
  if (std::uncaught_exceptions() > 0) return;
  fail_with(scope, sched::current_activity(), text);
  if (sched::in_suspendable_task()) drain(scope);
}

}  // namespace

void end_use(ScopeCore& scope, const Unsatisfied& source) noexcept {
  if (scope.world.run_has_ended.load(std::memory_order_acquire)) return;
  try {
    end_early(scope, source);
  } catch (const std::exception& error) {  // tasks may use what goes now
    scope.messenger().end_at_once(
        fmt::format("{} ended before its work was done: {}", source.title(), error.what()));
  }
}

}  // namespace shoal::term
