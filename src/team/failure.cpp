
#include <shoal/future.hpp>
#include "team/core_state.hpp"
#include "team/messenger.hpp"

#include <new>
#include <utility>

namespace shoal::team {

void insist(CoreState& scope, FunctionRef<void()> step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    const sync::Lock lock(scope.mutex);
    scope.reserve.reset();
  }
  try {
    step();
  } catch (const std::bad_alloc&) {
    scope.messenger().end_at_once(scope.out_of_memory);
  }
}

namespace {

/// Records the error that a task has left as the failure, unless there is one.
void record_left(CoreState& scope) {
  const std::optional<sched::LeftError> left = scope.team.left_error();
  if (!left.has_value()) return;
  TaskError error(scope.messenger().rank(), left->task_name, describe(left->error));
  std::exception_ptr failure = std::make_exception_ptr(error);
  const sync::Lock lock(scope.mutex);
  if (!scope.failure.record(std::move(error))) return;
  scope.spreads_left = true;
  scope.team.mark_failed(std::move(failure));
}

}  // namespace

std::optional<TaskError> failure_of(CoreState& scope) {
  {
    const sync::Lock lock(scope.mutex);
    if (scope.failure.exists()) return scope.failure.error();
  }
  record_left(scope);
  const sync::Lock lock(scope.mutex);
  return scope.failure.error();
}

// --- failure: sent up the tree to the root, which sends it down to all ranks. It travels on the
// paths of reports and of `done`, ahead of them: when the root finds the scope complete it knows
// the failure, and a rank that receives `done` knows it, too.

namespace {

/// Keeps the first failure. False: there was one.
bool record(CoreState& scope, TaskError error) {
  record_left(scope);
  std::exception_ptr failure = std::make_exception_ptr(error);
  const sync::Lock lock(scope.mutex);
  if (!scope.failure.record(std::move(error))) return false;
  scope.team.mark_failed(std::move(failure));
  return true;
}

void answer_all(CoreState& scope) {
  std::vector<Rank> all;
  {
    const sync::Lock lock(scope.mutex);
    all.swap(scope.asking);
  }
  for (const Rank rank : all) {
    send_about(scope.messenger(), scope.control.answer, rank, scope.team.id());
  }
}

/// Ends what waits, and passes the failure on. May be repeated.
void spread(CoreState& scope) {
  {
    const sync::Lock lock(scope.mutex);
    scope.reserve.reset();
  }
  scope.messenger().retry_unexpected();
  // Before their tasks go on, whose CancelledError would be the failure otherwise.
  for (const std::shared_ptr<CoreState>& inner : nested_in(scope)) {
    fail_from_outside(*inner, *failure_of(scope));
  }
  scope.scheduler().waiting().cancel(scope.team);
  answer_all(scope);
  give_up_promises(scope);
  if (scope.failure_to == FailureTo::outer_team) pass_failure_outwards(scope);
  const sync::Lock lock(scope.mutex);
  const auto tell = [&core = scope.team, &error = *scope.failure.error()](
                        const StaticHandler& handler, Rank rank) {
    send_control(core, handler, rank, error.rank().value(), error.task_name(), error.text());
  };
  if (scope.tree.is_root()) scope.failure.set_from_root();
  if (scope.failure.is_from_root()) {
    for (const Rank child : scope.children) tell(scope.control.failure_down, child);
  } else {
    tell(scope.control.failure_up, scope.tree.parent());
  }
}

/// Records what `make` returns, and spreads it if it is the first failure.
void fail_by(CoreState& scope, FunctionRef<TaskError()> make) {
  bool is_first = false;
  insist(scope, [&] { is_first = is_first || record(scope, make()); });
  if (is_first) insist(scope, [&] { spread(scope); });
}

// One caller at a time takes the error; detection waits until it is spread.
bool take_error(CoreState& scope) {
  if (!scope.team.begin_taking_error()) return false;
  insist(scope, [&] { record_left(scope); });
  const bool spreads = [&scope] {
    const sync::Lock lock(scope.mutex);
    return std::exchange(scope.spreads_left, false);
  }();
  if (spreads) insist(scope, [&] { spread(scope); });
  scope.team.end_taking_error();
  return true;
}

}  // namespace

bool take_errors(CoreState& scope) {
  if (scope.team.left_errors() == 0) return false;
  bool did = take_error(scope);
  for (const std::shared_ptr<CoreState>& inner : nested_in(scope)) did = take_errors(*inner) || did;
  return did;
}

void fail_with(CoreState& scope, std::string_view task_name, FunctionRef<std::string()> text) {
  fail_by(scope,
          [&] { return TaskError(scope.messenger().rank(), std::string(task_name), text()); });
}

// Cancels only tasks of this rank: the other members learn of the outer scope's failure, too.
void fail_from_outside(CoreState& scope, const TaskError& error) {
  bool is_first = false;
  insist(scope, [&] { is_first = is_first || record(scope, TaskError(error)); });
  scope.failure_told = true;  // where the outer one is told
  if (is_first) insist(scope, [&] { spread(scope); });
}

// Promises of the world need not: all waiters are cancelled.
void give_up_promises(CoreState& scope) {
  if (scope.is_world() || !scope.has_failed()) return;
  std::vector<GivenUp> promises;
  for (CoreState* const owing : {&scope, &scope.world}) {
    const sync::Lock lock(owing->mutex);
    owing->sources.give_up(scope.team, promises);
  }
  scope.messenger().promises().give_up(scope.team.id(), promises);
  if (promises.empty()) return;
  const std::exception_ptr error = std::make_exception_ptr(GivenUpError(*failure_of(scope)));
  for (GivenUp& promise : promises) promise(error);
}

void pass_failure_outwards(CoreState& scope) {
  if (scope.failure_told.exchange(true)) return;
  const std::optional<TaskError> error = failure_of(scope);
  if (error->is_cancellation()) return;
  scope.outer->team.fail(scope.describe(), std::make_exception_ptr(*error));
}

void on_failure_up(CoreState& scope, Rank origin, const std::string& task_name,
                   const std::string& text) {
  fail_by(scope, [&] { return TaskError(origin, task_name, text); });
}

// The failure that the root has chosen replaces the one recorded here.
void on_failure_down(CoreState& scope, Rank origin, const std::string& task_name,
                     const std::string& text) {
  bool is_first = false;
  insist(scope, [&] {
    TaskError error(origin, task_name, text);
    std::exception_ptr failure = std::make_exception_ptr(error);
    const sync::Lock lock(scope.mutex);
    is_first = scope.failure.replace_by_root(std::move(error));
    if (is_first) scope.team.mark_failed(std::move(failure));
  });
  if (is_first) insist(scope, [&] { spread(scope); });
}

// --- messages for members that never make the team, because a failure reached them first. Such
// messages would wait for ever. So a member that holds some asks their source, learns of the team's
// failure and drops them, and the source counts them.

void on_ask(CoreState& scope, Rank asking) {
  {
    const sync::Lock lock(scope.mutex);
    scope.asking.push_back(asking);
  }
  if (scope.has_failed()) answer_all(scope);
}

// --- thrown where the members wait

namespace {

/// Error for the member about the failure.
std::exception_ptr take_failure(CoreState& scope) {
  scope.failure_told = true;
  const sync::Lock lock(scope.mutex);
  return scope.failure.take();
}

}  // namespace

void throw_failure(CoreState& scope) {
  std::exception_ptr failure;
  insist(scope, [&] { failure = take_failure(scope); });
  std::rethrow_exception(failure);
}

void throw_outcome(CoreState& scope, Outcome outcome) {
  if (outcome == Outcome::failed) throw_failure(scope);
  if (outcome == Outcome::stuck) throw_stuck(scope);
}

// Without the lock: the exception may wait on its way (end_before_unwinding()).
void throw_stuck(CoreState& scope) {
  std::string text;
  {
    const sync::Lock lock(scope.mutex);
    text = scope.failure.stuck_text();
  }
  throw StuckError(text);
}

std::exception_ptr tell_of_failure(CoreState& scope) {
  {
    const sync::Lock lock(scope.mutex);
    if (scope.failure_told && !scope.failure.is_stuck_told_late()) return nullptr;
  }
  return take_failure(scope);
}

}  // namespace shoal::team
