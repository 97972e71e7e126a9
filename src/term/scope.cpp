#include <shoal/detail/term/scope.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/scheduler.hpp>

#include "am/messenger.hpp"
#include "term/scope_counts.hpp"
#include "term/scope_detection.hpp"
#include "term/scope_failure.hpp"
#include "term/scope_main.hpp"
#include "term/scope_member.hpp"
#include "term/scope_park.hpp"
#include "term/scope_reports.hpp"
#include "term/scope_tree.hpp"
#include "term/scope_use.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::term {

namespace {

constexpr std::size_t kReserveBytes = 64UL << 10U;

void check_main(const char* what) {
  sched::check_may_wait(what);
  SHOAL_CHECK(sched::in_main_function(),
              "{} was called in a task or a thread of its own; call it in the main function", what);
}

}  // namespace

Hold::Hold(Scope& scope) : scope_(&scope) { scope.thread_goes_on(); }

Hold::~Hold() {
  if (scope_ != nullptr) scope_->thread_parks();
}

// --- the parts

ScopeCore::ScopeCore(Scope& of, ScopeCore* outer_scope, std::string called, std::uint64_t numbered)
    : facade(of),
      outer(outer_scope),
      world(outer == nullptr ? *this : outer->world),
      name(std::move(called)),
      number(numbered),
      first(of.channel_.team().to_world(Rank(0))),
      tree{of.channel_.team().rank(), of.channel_.team().size()},
      children(tree.children()),
      control(control_handlers()),
      checks_graphs(outer != nullptr && outer->checks_graphs),
      detector_host(make_detector_host(*this)),
      detector(tree, *detector_host),
      reserve(outer == nullptr ? std::make_unique_for_overwrite<std::byte[]>(kReserveBytes)
                               : nullptr),
      out_of_memory(
          outer != nullptr
              ? outer->out_of_memory
              : fmt::format("rank {}: a task, a handler or the main function failed, and no "
                            "memory is left to report more or to end in order",
                            of.messenger_.rank().value())),
      own_directory(outer == nullptr ? std::make_unique<TeamDirectory>() : nullptr),
      teams(outer == nullptr ? *own_directory : outer->teams) {}

ScopeCore::~ScopeCore() = default;

Scope::Scope(messaging::Messenger& messenger)
    : TaskScope(messenger.scheduler().worker_count()),
      messenger_(messenger),
      channel_(messenger, *this, {}),
      core_(std::make_unique<ScopeCore>(*this, nullptr, "the world", 0)) {}

Scope::Scope(Scope& outer, messaging::ChannelTeam team, std::string name, std::uint64_t number)
    : TaskScope(outer.scheduler().worker_count(), &outer),
      messenger_(outer.messenger_),
      channel_(messenger_, *this, std::move(team)),
      core_(std::make_unique<ScopeCore>(*this, outer.core_.get(), std::move(name), number)) {
  channel_.number_handlers(core_->checks_graphs);
}

Scope::~Scope() {
  std::unique_ptr<ScopeOwner> owner;  // refers to the members
  std::vector<SharedTeam*> teams;
  {
    const sync::Lock lock(core_->mutex);
    owner = std::move(core_->owner);
    teams = core_->sources.take_shared_teams();
  }
  for (SharedTeam* const team : teams) team->rank_ended();
  if (core_->is_world()) channel_.services().clear();  // they may use this
}

std::string Scope::describe() const { return core_->describe(); }

// --- nested scopes

TeamScope& Scope::nest(messaging::ChannelTeam team, std::string name, std::uint64_t number,
                       FailureTo failure) {
  const std::shared_ptr<TeamScope> scope(
      new TeamScope(*this, std::move(team), std::move(name), number));
  scope->core().failure_to = failure;
  TeamDirectory& teams = core_->teams;
  teams.had_nested.store(true, std::memory_order_release);
  const sync::Lock lock(teams.mutex);
  core_->nested.emplace_back(scope, &scope->core());
  core_->nested_count.store(core_->nested.size(), std::memory_order_release);
  messenger_.set_has_teams(true);
  return *scope;
}

std::uint64_t Scope::next_nested_number() { return ++core_->nested_numbers; }
std::uint64_t Scope::next_own_number() { return ++core_->teams.own_numbers; }

void Scope::refuse_rank(const std::string& call, std::int64_t rank) const {
  detail::refuse_rank(call, rank, messenger_.rank(), describe(), size());
}

// --- waits

void Scope::check_member(const char* what) const {
  if (core_->is_world()) return check_main(what);
  if (sched::in_handler()) sched::refuse_in_handler(fmt::format("{} of {}", what, describe()));
  SHOAL_CHECK(
      sched::in_suspendable_task(),
      "{} of {} was called on a thread of its own, or in a task made from a message; call it "
      "in the main function or a task that it has spawned",
      what, describe());
}

void Scope::wait() {
  check_member("wait()");
  if (!core_->is_world()) return meet(*core_, {}, [] { return false; });
  throw_outcome(*core_, stand(*core_, {}, false, [] {}));
}

void Scope::park_member(const Standing& what, FunctionRef<bool()> is_over) {
  check_member(what.name);
  if (!core_->is_world()) return meet(*core_, what, is_over);
  throw_outcome(*core_, stand(*core_, what, false, [&] {
    if (is_over()) unpark_member();
  }));
}

void Scope::unpark_member() {
  {
    const sync::Lock lock(core_->mutex);
    finish_park(*core_, Outcome::done);
  }
  wake_waiter(*core_);
}

// --- sources of what waits

void Scope::add(Unsatisfied& source) {
  const sync::Lock lock(core_->mutex);
  core_->sources.add(source);
}

void Scope::remove(Unsatisfied& source) noexcept {
  source.close_handlers();  // else a message could arrive behind the look
  if (source.is_in_use()) end_use(*core_, source);
  const sync::Lock lock(core_->mutex);
  core_->sources.remove(source);
}

void Scope::add(SharedTeam& team) {
  const sync::Lock lock(core_->mutex);
  core_->sources.add(team);
}

void Scope::remove(SharedTeam& team) {
  const sync::Lock lock(core_->mutex);
  core_->sources.remove(team);
}

bool Scope::checks_graphs() const { return core_->checks_graphs; }

// --- failure

void Scope::fail(const std::string& task_name, const std::exception_ptr& error) {
  fail_with(*core_, task_name, [&error] { return shoal::describe(error); });
}

std::optional<TaskError> Scope::failure() const { return failure_of(*core_); }
std::exception_ptr Scope::failure_error() const {
  const std::optional<TaskError> error = failure();
  return error.has_value() ? std::make_exception_ptr(*error) : nullptr;
}
void Scope::give_up_promises() { term::give_up_promises(*core_); }

// --- counts and reports

// Under the lock: no snapshot finds the hold gone, and so the world does not end, before this has
// done with the scheduler.
void Scope::thread_parks() {
  const sync::Lock lock(core_->mutex);
  core_->holds.count.fetch_sub(1, std::memory_order_relaxed);
  counts.task_finished(scheduler().count_slot());
  scheduler().look_again();
}

void Scope::thread_goes_on() {
  counts.task_created(scheduler().count_slot());
  core_->holds.count.fetch_add(1, std::memory_order_release);
}

// They count there, and acknowledgements in the world: it is not quiescent as long as one travels.
// Here, a message that is not acknowledged is something that waits.
std::uint64_t Scope::begin_message_outside() {
  if (core_->is_world()) return 0;
  core_->outside.count_sent();
  return channel_.team().id();
}

sched::TaskScope::Totals Scope::all_totals() const { return term::all_totals(*core_); }
ScopeState Scope::state() const { return state_of(*core_); }

}  // namespace shoal::term
