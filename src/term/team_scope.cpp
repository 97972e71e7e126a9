// Scopes of teams: their end.

#include <shoal/detail/term/scope.hpp>

#include "term/scope_failure.hpp"
#include "term/scope_member.hpp"

#include <utility>

namespace shoal::term {

void TeamScope::open() { open_scope(core()); }

// Called by destructors, so it does not throw: errors fail the outer scope.
void TeamScope::end() noexcept {
  if (core().world.run_has_ended.load(std::memory_order_acquire)) return;
  try {
    stand_until_ended(core());
    if (failed()) pass_failure_outwards(core());
  } catch (const CancelledError&) {  // the outer scope has failed, which others are told
  } catch (const TaskError&) {       // likewise
  } catch (...) {
    outer()->fail("the end of " + describe(), std::current_exception());
  }
}

std::exception_ptr TeamScope::end_and_take_failure() noexcept {
  try {
    core().failure_told = true;
    stand_until_ended(core());
    return failed() ? std::make_exception_ptr(TaskError(*failure())) : nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void TeamScope::release() {
  sched::Scheduler& scheduler = this->scheduler();
  {
    const sync::Lock lock(core().mutex);
    core().member.release();
  }
  // From here on another worker may destroy this scope.
  scheduler.look_again();
}

void TeamScope::abandon(std::unique_ptr<ScopeOwner> owner) {
  {
    const sync::Lock lock(core().mutex);
    core().owner = std::move(owner);
  }
  release();
}

}  // namespace shoal::term
