#include "term/scope_member.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/park.hpp>

#include "am/messenger.hpp"
#include "term/scope_counts.hpp"
#include "term/scope_failure.hpp"
#include "term/scope_tree.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::term {

namespace {

/// Wait of a member of a nested scope: in wait(), or in a collective operation.
class Meeting final : public sched::Waitable {
 public:
  Meeting(ScopeCore& scope, const Standing& what, bool final, FunctionRef<bool()> is_over)
      : Waitable(scope.scheduler()), scope_(scope), what_(what), final_(final), is_over_(is_over) {}

  bool enlist(sync::Waiter& waiter) override {
    {
      const sync::Lock lock(scope_.mutex);
      scope_.member.begin(waiter, what_, final_, scope_.scheduler().env().now_ns());
    }
    const bool over = is_over_();
    const sync::Lock lock(scope_.mutex);
    if (over && scope_.member.withdraw(waiter)) {  // else it was taken out, and is woken
      scope_.member.set_done();
      return false;
    }
    scope_.member.settle();
    return true;
  }
  bool withdraw(sync::Waiter& waiter) override {
    const sync::Lock lock(scope_.mutex);
    return scope_.member.withdraw(waiter);
  }
  [[nodiscard]] std::string describe() const override {
    const char* const wait = final_ ? "the end" : "wait()";
    return fmt::format("{} of {}", what_.is_wait() ? wait : what_.text(), scope_.describe());
  }

 private:
  ScopeCore& scope_;
  const Standing what_;
  const bool final_;
  const FunctionRef<bool()> is_over_;
};

}  // namespace

// The caller is about to unwind, because an outer scope has failed: tasks of this one, which are
// dropped unless they run, may use objects on its stack. Before a main function unwinds, all of
// them have ended, and also before a task of this scope does, which ends with the others.
void drain(ScopeCore& scope) {
  if (sched::in_main_function()) return;
  const sched::TaskScope* const own = sched::current_task()->scope;
  if (own != nullptr && own->is_within(scope.facade)) return;
  sched::tell_parks();  // these tasks may wait for what it has
  while (!is_at_rest_here(scope)) {
    sched::block(scope.scheduler().env(), "the end of the tasks of a team that failed",
                 [&scope](sync::Waiter& waiter) {
                   const sync::Lock lock(scope.mutex);
                   scope.draining.push_back(&waiter);
                   scope.drains.store(true, std::memory_order_release);
                   return true;
                 });
  }
  sched::tell_goes_on();
}

namespace {

Outcome stand_in_meeting(ScopeCore& scope, const Standing& what, bool final,
                         FunctionRef<bool()> is_over) {
  scope.channel().open_handlers();
  if (sched::in_main_function()) open_all_handlers(scope.world);
  bool is_alone = false;
  {
    const sync::Lock lock(scope.mutex);
    is_alone = !scope.member.stands() && !scope.meeting;
    if (is_alone) {
      scope.meeting = true;
      scope.waiter_scope = sched::current_task()->scope;
    }
  }
  SHOAL_CHECK(is_alone,
              "{} was called while another task of this rank is in an operation of {}: "
              "members take part one task at a time",
              what.text(), scope.describe());
  Outcome outcome = Outcome::running;
  const auto leave = [&] {
    const sync::Lock lock(scope.mutex);
    scope.meeting = false;
    scope.waiter_scope = nullptr;
    outcome = scope.member.outcome();
  };
  Meeting meeting(scope, what, final, is_over);
  try {
    sched::wait_for(meeting);
  } catch (...) {
    leave();
    drain(scope);
    throw;
  }
  leave();
  scope.messenger().flush();
  return outcome;
}

}  // namespace

void meet(ScopeCore& scope, const Standing& what, FunctionRef<bool()> is_over) {
  throw_outcome(scope, stand_in_meeting(scope, what, false, is_over));
}

void stand_until_ended(ScopeCore& scope) {
  const auto is_over = [&scope](bool also_complete) {
    const sync::Lock lock(scope.mutex);
    return scope.abandoned || (also_complete && scope.all_final);
  };
  for (bool all_ended = is_over(false); !all_ended; all_ended = is_over(true)) {
    static_cast<void>(stand_in_meeting(scope, {}, true, [] { return false; }));
  }
}

// Handles the control messages that came early before it enters the scope in the table, where later
// ones find it: those must not overtake.
void open_scope(ScopeCore& scope) {
  scope.channel().open();
  const std::shared_ptr<ScopeCore> shared = owner_of(scope);
  while (true) {
    std::vector<TeamDirectory::EarlyControl> early = enter_directory(shared);
    if (early.empty()) break;
    for (TeamDirectory::EarlyControl& one : early) one(shared);
  }
  if (scope.outer->has_failed()) fail_from_outside(scope, *failure_of(*scope.outer));
}

}  // namespace shoal::term
