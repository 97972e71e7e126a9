
#include <shoal/future.hpp>
#include "team/core_state.hpp"
#include "team/messenger.hpp"

#include <new>
#include <utility>

namespace shoal::team {

void insist(CoreState& core, FunctionRef<void()> step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    const sync::Lock lock(core.mutex);
    core.reserve.reset();
  }
  try {
    step();
  } catch (const std::bad_alloc&) {
    core.messenger().end_at_once(core.out_of_memory);
  }
}

namespace {

/// Records the error that a task has left as the failure, unless there is one.
void record_left(CoreState& core) {
  const std::optional<sched::LeftError> left = core.team.left_error();
  if (!left.has_value()) return;
  TaskError error(core.messenger().rank(), left->task_name, describe(left->error));
  std::exception_ptr failure = std::make_exception_ptr(error);
  const sync::Lock lock(core.mutex);
  if (!core.failure.record(std::move(error))) return;
  core.spreads_left = true;
  core.team.mark_failed(std::move(failure));
}

}  // namespace

std::optional<TaskError> failure_of(CoreState& core) {
  {
    const sync::Lock lock(core.mutex);
    if (core.failure.exists()) return core.failure.error();
  }
  record_left(core);
  const sync::Lock lock(core.mutex);
  return core.failure.error();
}

// --- failure: sent up the tree to the root, which sends it down to all ranks. It travels on the
// paths of reports and of `done`, ahead of them: when the root finds the team complete it knows
// the failure, and a rank that receives `done` knows it, too.

namespace {

/// Keeps the first failure. False: there was one.
bool record(CoreState& core, TaskError error) {
  record_left(core);
  std::exception_ptr failure = std::make_exception_ptr(error);
  const sync::Lock lock(core.mutex);
  if (!core.failure.record(std::move(error))) return false;
  core.team.mark_failed(std::move(failure));
  return true;
}

void answer_all(CoreState& core) {
  std::vector<Rank> all;
  {
    const sync::Lock lock(core.mutex);
    all.swap(core.asking);
  }
  for (const Rank rank : all) {
    send_about(core.messenger(), core.control.answer, rank, core.team.id());
  }
}

/// Ends what waits, and passes the failure on. May be repeated.
void spread(CoreState& core) {
  {
    const sync::Lock lock(core.mutex);
    core.reserve.reset();
  }
  core.messenger().retry_unexpected();
  // Before their tasks go on, whose CancelledError would be the failure otherwise.
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) {
    fail_from_outside(*inner, *failure_of(core));
  }
  core.scheduler().waiting().cancel(core.team);
  answer_all(core);
  give_up_promises(core);
  if (core.failure_to == FailureTo::outer_team) pass_failure_outwards(core);
  const sync::Lock lock(core.mutex);
  const auto tell = [&team = core.team, &error = *core.failure.error()](
                        const StaticHandler& handler, Rank rank) {
    send_control(team, handler, rank, error.rank().value(), error.task_name(), error.text());
  };
  if (core.tree.is_root()) core.failure.set_from_root();
  if (core.failure.is_from_root()) {
    for (const Rank child : core.children) tell(core.control.failure_down, child);
  } else {
    tell(core.control.failure_up, core.tree.parent());
  }
}

/// Records what `make` returns, and spreads it if it is the first failure.
void fail_by(CoreState& core, FunctionRef<TaskError()> make) {
  bool is_first = false;
  insist(core, [&] { is_first = is_first || record(core, make()); });
  if (is_first) insist(core, [&] { spread(core); });
}

// One caller at a time takes the error; detection waits until it is spread.
bool take_error(CoreState& core) {
  if (!core.team.begin_taking_error()) return false;
  insist(core, [&] { record_left(core); });
  const bool spreads = [&core] {
    const sync::Lock lock(core.mutex);
    return std::exchange(core.spreads_left, false);
  }();
  if (spreads) insist(core, [&] { spread(core); });
  core.team.end_taking_error();
  return true;
}

}  // namespace

bool take_errors(CoreState& core) {
  if (core.team.left_errors() == 0) return false;
  bool did = take_error(core);
  for (const std::shared_ptr<CoreState>& inner : nested_in(core)) did = take_errors(*inner) || did;
  return did;
}

void fail_with(CoreState& core, std::string_view task_name, FunctionRef<std::string()> text) {
  fail_by(core, [&] { return TaskError(core.messenger().rank(), std::string(task_name), text()); });
}

// Cancels only tasks of this rank: the other members learn of the outer team's failure, too.
void fail_from_outside(CoreState& core, const TaskError& error) {
  bool is_first = false;
  insist(core, [&] { is_first = is_first || record(core, TaskError(error)); });
  core.failure_told = true;  // where the outer one is told
  if (is_first) insist(core, [&] { spread(core); });
}

// Promises of the world need not: all waiters are cancelled.
void give_up_promises(CoreState& core) {
  if (core.is_world() || !core.has_failed()) return;
  std::vector<GivenUp> promises;
  for (CoreState* const owing : {&core, &core.world}) {
    const sync::Lock lock(owing->mutex);
    owing->sources.give_up(core.team, promises);
  }
  core.messenger().promises().give_up(core.team.id(), promises);
  if (promises.empty()) return;
  const std::exception_ptr error = std::make_exception_ptr(GivenUpError(*failure_of(core)));
  for (GivenUp& promise : promises) promise(error);
}

void pass_failure_outwards(CoreState& core) {
  if (core.failure_told.exchange(true)) return;
  const std::optional<TaskError> error = failure_of(core);
  if (error->is_cancellation()) return;
  core.outer->team.fail(core.describe(), std::make_exception_ptr(*error));
}

void on_failure_up(CoreState& core, Rank origin, const std::string& task_name,
                   const std::string& text) {
  fail_by(core, [&] { return TaskError(origin, task_name, text); });
}

// The failure that the root has chosen replaces the one recorded here.
void on_failure_down(CoreState& core, Rank origin, const std::string& task_name,
                     const std::string& text) {
  bool is_first = false;
  insist(core, [&] {
    TaskError error(origin, task_name, text);
    std::exception_ptr failure = std::make_exception_ptr(error);
    const sync::Lock lock(core.mutex);
    is_first = core.failure.replace_by_root(std::move(error));
    if (is_first) core.team.mark_failed(std::move(failure));
  });
  if (is_first) insist(core, [&] { spread(core); });
}

// --- messages for members that never make the team, because a failure reached them first. Such
// messages would wait for ever. So a member that holds some asks their source, learns of the team's
// failure and drops them, and the source counts them.

void on_ask(CoreState& core, Rank asking) {
  {
    const sync::Lock lock(core.mutex);
    core.asking.push_back(asking);
  }
  if (core.has_failed()) answer_all(core);
}

// --- thrown where the members wait

namespace {

/// Error for the member about the failure.
std::exception_ptr take_failure(CoreState& core) {
  core.failure_told = true;
  const sync::Lock lock(core.mutex);
  return core.failure.take();
}

}  // namespace

void throw_failure(CoreState& core) {
  std::exception_ptr failure;
  insist(core, [&] { failure = take_failure(core); });
  std::rethrow_exception(failure);
}

void throw_outcome(CoreState& core, Outcome outcome) {
  if (outcome == Outcome::failed) throw_failure(core);
  if (outcome == Outcome::stuck) throw_stuck(core);
}

// Without the lock: the exception may wait on its way (end_before_unwinding()).
void throw_stuck(CoreState& core) {
  std::string text;
  {
    const sync::Lock lock(core.mutex);
    text = core.failure.stuck_text();
  }
  throw StuckError(text);
}

std::exception_ptr tell_of_failure(CoreState& core) {
  {
    const sync::Lock lock(core.mutex);
    if (core.failure_told && !core.failure.is_stuck_told_late()) return nullptr;
  }
  return take_failure(core);
}

}  // namespace shoal::team
