#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <exception>
#include <string>
#include <utility>

#include "team/core_state.hpp"
#include "team/messenger.hpp"

namespace shoal::team {

namespace {

/// Wait of a member of a nested team: in wait(), or in a collective operation.
class Meeting final : public sched::Waitable {
 public:
  Meeting(CoreState& core, const WaitedOperation& what, bool final, FunctionRef<bool()> is_over)
      : Waitable(core.scheduler()), core_(core), what_(what), final_(final), is_over_(is_over) {}

  bool enlist(sync::Waiter& waiter) override {
    {
      const sync::Lock lock(core_.mutex);
      core_.member.begin(waiter, what_, final_, core_.scheduler().env().now_ns());
    }
    const bool over = is_over_();
    const sync::Lock lock(core_.mutex);
    if (over && core_.member.withdraw(waiter)) {  // else it was taken out, and is woken
      core_.member.set_done();
      return false;
    }
    core_.member.settle();
    return true;
  }
  bool withdraw(sync::Waiter& waiter) override {
    const sync::Lock lock(core_.mutex);
    return core_.member.withdraw(waiter);
  }
  [[nodiscard]] sched::Cancellable cancellable() const override {
    return sched::Cancellable::by_team;
  }
  [[nodiscard]] std::string describe() const override { return text(what_.text()); }
  [[nodiscard]] std::string trace_text() const override { return text(what_.name); }

 private:
  [[nodiscard]] std::string text(const std::string& operation) const {
    const char* const wait = final_ ? "the end" : "wait()";
    return fmt::format("{} of {}", what_.is_wait() ? wait : operation, core_.describe());
  }

  CoreState& core_;
  const WaitedOperation what_;
  const bool final_;
  const FunctionRef<bool()> is_over_;
};

}  // namespace

namespace {

// Waits until tasks of the team, which has failed, have ended on this rank.
void await_rest(CoreState& core) {
  sched::tell_parks();  // these tasks may wait for what it has
  while (!is_at_rest_here(core)) {
    sched::block(core.scheduler().env(), "the end of the tasks of a team that failed",
                 [&core](sync::Waiter& waiter) {
                   const sync::Lock lock(core.mutex);
                   core.draining.push_back(&waiter);
                   core.drains.store(true, std::memory_order_release);
                   return true;
                 });
  }
  sched::tell_goes_on();
}

}  // namespace

// The caller is about to unwind, because an outer team has failed: tasks of this one, which are
// dropped unless they run, may use objects on its stack. Before a main function unwinds, all of
// them have ended, and also before a task of this team does, which ends with the others.
void drain(CoreState& core) {
  if (sched::in_main_function()) return;
  const sched::TaskScope* const own = sched::current_task()->scope;
  if (own == nullptr || !own->is_within(core.team)) await_rest(core);
}

// Not by a meeting, which has one task of each rank: several may wait, on some of the ranks.
void leave_failed(CoreState& core) {
  await_rest(core);
  sched::tell_main_of_failure(core.scheduler());  // the world may have failed meanwhile
  if (sched::in_main_function()) throw_failure(core);
  const sched::TaskScope* const own = sched::current_task()->scope;
  if (own != nullptr && own->failed()) throw CancelledError("the team of the task has failed");
  throw TaskError(*failure_of(core));
}

namespace {

Outcome wait_in_meeting(CoreState& core, const WaitedOperation& what, bool final,
                        FunctionRef<bool()> is_over) {
  core.team.open_handlers();
  if (sched::in_main_function()) core.world.team.open_all_handlers();
  bool is_alone = false;
  {
    const sync::Lock lock(core.mutex);
    is_alone = !core.member.is_waiting() && !core.meeting;
    if (is_alone) {
      core.meeting = true;
      core.waiter_scope = sched::current_task()->scope;
    }
  }
  SHOAL_CHECK(is_alone,
              "{} was called while another task of this rank is in an operation of {}: "
              "members take part one task at a time",
              what.text(), core.describe());
  if (what.is_wait()) core.team.publish_end();
  Outcome outcome = Outcome::running;
  const auto leave = [&] {
    const sync::Lock lock(core.mutex);
    core.meeting = false;
    core.waiter_scope = nullptr;
    outcome = core.member.outcome();
  };
  Meeting meeting(core, what, final, is_over);
  try {
    sched::wait_for(meeting);
  } catch (...) {
    leave();
    drain(core);
    throw;
  }
  leave();
  if (what.is_wait()) core.team.observe_ends();
  core.messenger().flush();
  return outcome;
}

}  // namespace

void meet(CoreState& core, const WaitedOperation& what, FunctionRef<bool()> is_over) {
  throw_outcome(core, wait_in_meeting(core, what, false, is_over));
}

void wait_until_ended(CoreState& core) {
  const auto is_over = [&core](bool also_complete) {
    const sync::Lock lock(core.mutex);
    return core.abandoned || (also_complete && core.all_final);
  };
  for (bool all_ended = is_over(false); !all_ended; all_ended = is_over(true)) {
    static_cast<void>(wait_in_meeting(core, {}, true, [] { return false; }));
  }
}

// In this order: messages wait for the core in the table, and the handlers of control messages then
// look in the directory.
void open_core(CoreState& core) {
  enter_directory(core);
  core.messenger().add(core.team);
  if (core.outer->has_failed()) fail_from_outside(core, *failure_of(*core.outer));
}

Outcome wait_in_operation(CoreState& world, const WaitedOperation& what, bool final,
                          FunctionRef<void()> start) {
  world.team.open_all_handlers();
  const char* const shown = what.is_wait() ? "wait()" : what.name;
  sched::tell_parks();
  sched::block(world.scheduler().env(), shown, [&](sync::Waiter& waiter) {
    {
      const sync::Lock lock(world.mutex);
      world.member.begin(waiter, what, final, world.scheduler().env().now_ns());
    }
    start();  // may find that there is nothing to wait for, and unpark
    const sync::Lock lock(world.mutex);
    world.member.settle();
    return true;
  });
  if (what.is_wait()) sync::observe_all();
  // Messages that this rank has just sent (that all is done, say) leave now, even if the main
  // function goes on to block this thread outside shoal.
  world.messenger().flush();
  const Outcome outcome = [&world] {
    const sync::Lock lock(world.mutex);
    return world.member.outcome();
  }();
  sched::tell_goes_on();
  return outcome;
}

void wait_for_end(CoreState& world) {
  std::exception_ptr first;
  bool all_ended = false;
  while (!all_ended) {
    const Outcome outcome = wait_in_operation(world, {}, true, [] {});
    if (outcome == Outcome::failed && first == nullptr) {
      insist(world, [&] { first = tell_of_failure(world); });
    }
    std::exception_ptr stuck;
    {
      const sync::Lock lock(world.mutex);
      // Others may repair it.
      if (outcome == Outcome::stuck && world.all_final) {
        stuck = std::make_exception_ptr(StuckError(world.failure.stuck_text()));
      }
      all_ended = world.all_final && stuck == nullptr;
    }
    if (stuck == nullptr) continue;
    // No main function is left to repair it: one more round, in which held messages are dropped.
    if (first == nullptr) first = stuck;
    world.team.fail("the end of the main functions", stuck);
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void end_all(CoreState& world, FunctionRef<std::string()> text, const char* why) {
  fail_with(world, "the main function", text);
  const auto ignore_holds = [&world](bool ignore) {
    const sync::Lock lock(world.mutex);
    world.ignores_holds = ignore;
  };
  ignore_holds(true);
  insist(world, [&] { static_cast<void>(wait_in_operation(world, {why}, false, [] {})); });
  ignore_holds(false);
}

namespace {

// The waiter is woken right now, or never: its waker should have come before everything ended. A
// task that is not counted ends the process, without the lock: other tasks are dropped.
void check_main_goes_on(CoreState& core) SHOAL_REQUIRES(core.mutex) {
  const std::string where = core.scheduler().waiting().keeps_main();
  if (where.empty()) return;
  std::string text = fmt::format(
      "rank {}: nothing runs any more, but the main function waits in {}, and cannot be woken",
      core.messenger().rank().value(), where);
  if (const auto& error = core.failure.error(); error.has_value()) {
    text += fmt::format("; the world has failed: {}", error->what());
  }
  auto task = sched::make_function_task(
      core.team, "end", [messenger = &core.messenger(), text] { messenger->end_at_once(text); });
  task->scope = nullptr;
  core.scheduler().submit(std::move(task));
}

// The outer team has completed, with a failure: nothing of this one is left on any rank.
void take_out(CoreState& core, Outcome outcome) {
  const sync::Lock lock(core.mutex);
  core.abandoned = true;
  finish_park(core, outcome);
}

void finish_park_of_team(CoreState& core, Outcome outcome) SHOAL_REQUIRES(core.mutex) {
  if (outcome == Outcome::failed) {
    for (const std::shared_ptr<CoreState>& inner : nested_in(core)) take_out(*inner, outcome);
  }
  if (!core.member.is_waiting()) return;
  // release pairs with the acquire in take_snapshot()
  core.teams.wakes_due.fetch_add(1, std::memory_order_release);
  core.woken.store(&core.member.take(outcome), std::memory_order_release);
}

}  // namespace

// The main function counts as running from here on, before it runs again: a handler that unparks it
// has not been counted as processed yet, so no snapshot can miss it.
void finish_park(CoreState& core, Outcome outcome) {
  if (!core.is_world()) return finish_park_of_team(core, outcome);
  MemberWait& member = core.member;
  if (member.is_waiting()) return member.take(outcome).wake();
  if (outcome == Outcome::done || !core.team.is_main_parked()) return;
  const bool is_stuck = outcome == Outcome::stuck || core.failure.is_stuck_told_late();
  core.team.set_main_error(is_stuck ? std::make_exception_ptr(StuckError(core.failure.stuck_text()))
                                    : core.team.failure_error());
  if (!core.scheduler().waiting().cancel_main()) return check_main_goes_on(core);
  core.team.main_goes_on();
  if (outcome != Outcome::failed) return;
  core.failure_told = true;
  core.failure.set_told();
}

void wake_waiter(CoreState& core) {
  if (core.woken.load(std::memory_order_acquire) != nullptr) {
    sync::Waiter* woken = nullptr;
    {
      const sync::Lock lock(core.mutex);
      woken = core.woken.exchange(nullptr, std::memory_order_relaxed);
    }
    if (woken != nullptr) {
      woken->wake();
      core.teams.wakes_due.fetch_sub(1, std::memory_order_release);
    }
  }
  if (core.is_world() || !core.has_failed()) return;
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) wake_waiter(*inner);
}

// A worker that ends the last task, or parks in drain(), looks here afterwards.
void wake_draining(CoreState& core) {
  if (!core.drains.load(std::memory_order_acquire)) return;
  std::vector<sync::Waiter*> woken;
  {
    const sync::Lock lock(core.mutex);
    if (!is_at_rest_here(core)) return;
    woken.swap(core.draining);
    core.drains.store(false, std::memory_order_relaxed);
  }
  for (sync::Waiter* const waiter : woken) waiter->wake();
}

namespace {

// Tasks of the team on this rank, without the caller, and without those of teams made on it: they
// have objects of their own.
bool do_others_run(const CoreState& core) {
  const Totals totals = core.team.counts.totals();
  const sched::Task* const task = sched::current_task();
  const bool is_one = task != nullptr && !task->is_main() && task->scope == &core.team;
  const auto holds = static_cast<std::uint64_t>(core.team.holds());
  return totals.created > totals.finished + holds + (is_one ? 1 : 0);
}

// A task that has woken the caller may not have returned yet. Its end is no wait: it is short.
bool do_others_go_on(const CoreState& core) {
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks; ++i) {
    if (!do_others_run(core)) return false;
  }
  return true;
}

std::string describe_early_end(const CoreState& core, const Unsatisfied& source,
                               std::uint64_t waiting) {
  const bool may_wait = !core.is_world() || sched::in_main_function();
  std::string text = fmt::format(
      "{} ended before its work was done ({}): {}", source.title(),
      waiting > 0 ? fmt::format("{} left waiting", waiting) : "tasks may still use it",
      may_wait ? fmt::format("call wait() of {} before it goes out of scope", core.describe())
               : "only a main function can wait for the world: make it there, or on a team, and "
                 "call wait() of that before it goes out of scope");
  const std::vector<std::string> lines = source.describe_unsatisfied();
  if (!lines.empty()) text += fmt::format("\n  {}", fmt::join(lines, "\n  "));
  return text;
}

void end_early(CoreState& core, const Unsatisfied& source) {
  const std::uint64_t waiting = source.open_count();
  const bool others_run = do_others_go_on(core);
  // After a failure nothing of a graph runs that waits.
  if (!others_run && (waiting == 0 || core.has_failed())) return;
  const auto text = [&] { return describe_early_end(core, source, waiting); };
  if (sched::in_main_function()) {
    // A future has thrown the failure, say: the tasks that still run are the last ones.
    if (!core.is_world() && core.has_failed()) return await_rest(core);
    return end_all(core.world, text,
                   "a destructor, after the end of all tasks that may use the object");
  }
  // The exception on its way fails the team, and says more.
  if (std::uncaught_exceptions() > 0) return;
  fail_with(core, sched::current_activity(), text);
  if (sched::in_suspendable_task()) drain(core);
}

}  // namespace

void end_use(CoreState& core, const Unsatisfied& source) noexcept {
  if (core.world.run_has_ended.load(std::memory_order_acquire)) return;
  try {
    end_early(core, source);
  } catch (const std::exception& error) {  // tasks may use what goes now
    core.messenger().end_at_once(
        fmt::format("{} ended before its work was done: {}", source.title(), error.what()));
  }
}

}  // namespace shoal::team
