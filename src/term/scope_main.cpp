#include "term/scope_main.hpp"

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/strand.hpp>

#include "am/messenger.hpp"
#include "term/scope_failure.hpp"
#include "term/scope_tree.hpp"

#include <exception>

namespace shoal::term {

Outcome stand(ScopeCore& world, const Standing& what, bool final, FunctionRef<void()> start) {
  open_all_handlers(world);
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

void wait_for_end(ScopeCore& world) {
  std::exception_ptr first;
  bool all_ended = false;
  while (!all_ended) {
    const Outcome outcome = stand(world, {}, true, [] {});
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
    world.facade.fail("the end of the main functions", stuck);
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void end_all(ScopeCore& world, FunctionRef<std::string()> text, const char* why) {
  fail_with(world, "the main function", text);
  const auto ignore_holds = [&world](bool ignore) {
    const sync::Lock lock(world.mutex);
    world.holds.is_ignored = ignore;
  };
  ignore_holds(true);
  insist(world, [&] { static_cast<void>(stand(world, {why}, false, [] {})); });
  ignore_holds(false);
}

}  // namespace shoal::term
