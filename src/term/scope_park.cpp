#include "term/scope_park.hpp"

#include <shoal/detail/sched/function_task.hpp>

#include "am/messenger.hpp"
#include "term/scope_counts.hpp"
#include "term/scope_tree.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::term {

namespace {

// The waiter is woken right now, or never: its waker should have come before everything ended. A
// task that is not counted ends the process, without the lock: other tasks are dropped.
void check_main_goes_on(ScopeCore& scope) SHOAL_REQUIRES(scope.mutex) {
  const std::string where = scope.scheduler().waiting().keeps_main();
  if (where.empty()) return;
  std::string text = fmt::format(
      "rank {}: nothing runs any more, but the main function waits in {}, and cannot be woken",
      scope.messenger().rank().value(), where);
  if (const auto& error = scope.failure.error(); error.has_value()) {
    text += fmt::format("; the world has failed: {}", error->what());
  }
  auto task = sched::make_function_task(
      scope.facade, "end",
      [messenger = &scope.messenger(), text] { messenger->end_at_once(text); });
  task->scope = nullptr;
  scope.scheduler().submit(std::move(task));
}

// The outer scope has completed, with a failure: nothing of this one is left on any rank.
void take_out(ScopeCore& scope, Outcome outcome) {
  const sync::Lock lock(scope.mutex);
  scope.abandoned = true;
  finish_park(scope, outcome);
}

void finish_park_of_team(ScopeCore& scope, Outcome outcome) SHOAL_REQUIRES(scope.mutex) {
  if (outcome == Outcome::failed) {
    for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) take_out(*inner, outcome);
  }
  if (!scope.member.stands()) return;
  // release pairs with the acquire in take_snapshot()
  scope.teams.wakes_due.fetch_add(1, std::memory_order_release);
  scope.woken.store(&scope.member.take(outcome), std::memory_order_release);
}

}  // namespace

// The main function counts as running from here on, before it runs again: a handler that unparks it
// has not been counted as processed yet, so no snapshot can miss it.
void finish_park(ScopeCore& scope, Outcome outcome) {
  if (!scope.is_world()) return finish_park_of_team(scope, outcome);
  MemberWait& member = scope.member;
  if (member.stands()) return member.take(outcome).wake();
  if (outcome == Outcome::done || !member.in_own_wait()) return;
  if (!scope.scheduler().waiting().cancel_main()) return check_main_goes_on(scope);
  member.cancel_own_wait(outcome);
}

void wake_waiter(ScopeCore& scope) {
  if (scope.woken.load(std::memory_order_acquire) != nullptr) {
    sync::Waiter* woken = nullptr;
    {
      const sync::Lock lock(scope.mutex);
      woken = scope.woken.exchange(nullptr, std::memory_order_relaxed);
    }
    if (woken != nullptr) {
      woken->wake();
      scope.teams.wakes_due.fetch_sub(1, std::memory_order_release);
    }
  }
  if (scope.is_world() || !scope.has_failed()) return;
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) wake_waiter(*inner);
}

// A worker that ends the last task, or parks in drain(), looks here afterwards.
void wake_draining(ScopeCore& scope) {
  if (!scope.drains.load(std::memory_order_acquire)) return;
  std::vector<sync::Waiter*> woken;
  {
    const sync::Lock lock(scope.mutex);
    if (!is_at_rest_here(scope)) return;
    woken.swap(scope.draining);
    scope.drains.store(false, std::memory_order_relaxed);
  }
  for (sync::Waiter* const waiter : woken) waiter->wake();
}

}  // namespace shoal::term
