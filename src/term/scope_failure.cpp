// Failure of a scope: recorded, told to all members, and thrown where they wait.

#include <shoal/term/scope.hpp>

#include <shoal/sched/park.hpp>

#include "term/scope_messages.hpp"

#include <new>
#include <utility>

namespace shoal::term {

// --- failure: told up the tree to the root, which tells everybody. Both travel on the paths of
// reports and of `done`, ahead of them: when the root finds the scope complete it knows the
// failure, and when a rank hears `done` it knows it too.

void Scope::fail(const std::string& task_name, const std::exception_ptr& error) {
  fail_with(task_name, [&error] { return shoal::describe(error); });
}

void Scope::fail_with(std::string_view task_name, FunctionRef<std::string()> text) {
  bool is_first = false;
  insist([&] {
    is_first = is_first || record(TaskError(messenger_.rank(), std::string(task_name), text()));
  });
  if (is_first) insist([this] { spread(); });
}

std::optional<TaskError> Scope::failure() const {
  const sync::Lock lock(mutex_);
  return error_;
}

bool Scope::record(TaskError error) {
  const sync::Lock lock(mutex_);
  if (error_.has_value()) return false;  // an earlier one was passed on already
  error_.emplace(std::move(error));
  mark_failed();
  return true;
}

void Scope::spread() {
  {
    const sync::Lock lock(mutex_);
    reserve_.reset();
  }
  messenger_.drop_held();
  scheduler().cancel_waiting(*this);
  for (const std::shared_ptr<Scope>& inner : nested()) inner->fail_from_outside(*failure());
  answer_all();
  give_up_promises();
  const sync::Lock lock(mutex_);
  const auto tell = [this, &error = *error_](const messaging::StaticHandler& handler, Rank rank) {
    ScopeMessages::send(*this, handler, rank, error.rank().value(), error.task_name(),
                        error.text());
  };
  if (tree_.is_root()) failure_from_root_ = true;
  if (failure_from_root_) {
    for (const Rank child : children_) tell(ScopeMessages::failure_down, child);
  } else {
    tell(ScopeMessages::failure_up, tree_.parent());
  }
}

// Those of the world need not: all who wait are cancelled.
void Scope::give_up_promises() {
  if (outer_ == nullptr || !failed()) return;
  std::vector<GivenUp> promises;
  for (Scope* const scope : {this, &world_}) {
    const sync::Lock lock(scope->mutex_);
    for (Unsatisfied* const source : scope->sources_) source->give_up(*this, promises);
  }
  if (promises.empty()) return;
  const std::exception_ptr error = std::make_exception_ptr(*failure());
  for (GivenUp& promise : promises) promise(error);
}

// Only what runs here is told: the other members hear of the outer scope's failure as well.
void Scope::fail_from_outside(const TaskError& error) {
  bool is_first = false;
  insist([&] { is_first = is_first || record(TaskError(error)); });
  failure_told_ = true;  // where the outer one is told
  if (is_first) insist([this] { spread(); });
}

// --- messages for members that never make the team, since they have heard of a failure before:
// they wait there for ever. So a member that has such messages asks their source, hears of the
// failure of the team, drops them, and the source counts them.

void Scope::on_unknown_team(std::uint64_t team, Rank source) {
  ScopeMessages::send_to_team(*this, ScopeMessages::ask, source, team);
}

void Scope::on_ask(Rank asking) {
  {
    const sync::Lock lock(mutex_);
    asking_.push_back(asking);
  }
  if (failed()) answer_all();
}

void Scope::answer_all() {
  std::vector<Rank> all;
  {
    const sync::Lock lock(mutex_);
    all.swap(asking_);
  }
  for (const Rank rank : all) {
    ScopeMessages::send_to_team(world_, ScopeMessages::answer, rank, channel_.team());
  }
}

// Nobody waits for the team any more.
void Scope::pass_failure_outwards() {
  if (failure_told_.exchange(true)) return;
  const std::optional<TaskError> error = failure();
  outer_->fail(describe(), std::make_exception_ptr(*error));
}

void Scope::on_failure_up(Rank origin, const std::string& task_name, const std::string& text) {
  bool is_first = false;
  insist([&] { is_first = is_first || record(TaskError(origin, task_name, text)); });
  if (is_first) insist([this] { spread(); });
}

// The failure that the root has chosen replaces the one recorded here.
void Scope::on_failure_down(Rank origin, const std::string& task_name, const std::string& text) {
  bool is_first = false;
  insist([&] {
    TaskError error(origin, task_name, text);
    const sync::Lock lock(mutex_);
    is_first = !std::exchange(failure_from_root_, true);
    if (!is_first) return;
    error_.emplace(std::move(error));
    mark_failed();
  });
  if (is_first) insist([this] { spread(); });
}

}  // namespace shoal::term
