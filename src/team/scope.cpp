#include <shoal/detail/team/scope.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/scheduler.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <string>
#include <utility>

#include "team/messenger.hpp"
#include "team/scope_completion.hpp"
#include "team/scope_failure.hpp"
#include "team/scope_reports.hpp"
#include "team/scope_state.hpp"
#include "team/scope_tree.hpp"
#include "team/scope_waiting.hpp"

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

// Messages into another team count there, and acknowledgements in the world, which is not quiescent
// while one is in flight. In this scope, a message that is not acknowledged is a thing that waits.
std::uint64_t Scope::begin_message_outside() {
  if (core_->is_world()) return 0;
  core_->outside.count_sent();
  return channel_.team().id();
}

sched::TaskScope::Totals Scope::all_totals() const { return term::all_totals(*core_); }
ScopeState Scope::state() const { return state_of(*core_); }

// --- the world

/// Listener of the rank's scheduler and messenger.
class WorldScope::Listener final : public sched::IdleListener, public messaging::TeamListener {
 public:
  explicit Listener(ScopeCore& world) : world_(world) {}

  bool on_idle() override {
    const bool did = world_.teams.had_nested.load(std::memory_order_acquire) && poll_nested(world_);
    return poll_detector(world_) || did;
  }
  bool on_busy() override { return poll_nested(world_); }
  void on_unknown_team(std::uint64_t team, Rank source) override {
    send_about(world_.messenger(), world_.control.ask, source, team);
  }
  void acknowledge(Rank sender, std::uint64_t team, std::uint64_t count) override {
    send_counted(world_.channel(), world_.control.acknowledged, sender, team, count);
  }

 private:
  ScopeCore& world_;
};

WorldScope::WorldScope(messaging::Messenger& messenger)
    : Scope(messenger), listener_(std::make_unique<Listener>(core())) {
  channel().open();
  scheduler().set_scope(*this);
  messenger.set_team_listener(*listener_);
  scheduler().set_idle_listener(*listener_);
}

WorldScope::~WorldScope() = default;

void WorldScope::set_checks_graphs(bool checks) {
  core().checks_graphs = checks;
  channel().number_handlers(checks);
}

void WorldScope::set_completion_check(Function<void()> check) {
  core().completion_check = std::move(check);
}

bool WorldScope::had_nested() const {
  return core().teams.had_nested.load(std::memory_order_acquire);
}

// --- the main function

void WorldScope::wait_for_end() { term::wait_for_end(core()); }

void WorldScope::end_before_unwinding(FunctionRef<std::string()> text) {
  end_all(core(), text, "its unwinding, after the end of all tasks that may use its stack");
}

void WorldScope::end_without_memory(FunctionRef<std::string()> text) noexcept {
  std::string all;
  try {
    all = fmt::format(
        "rank {}: the main function failed: {}; the process ends at once, since shoal may have "
        "been "
        "in the middle of a change: ask for less memory, or catch this in the main function",
        rank().value(), text());
  } catch (...) {  // there is no memory for that
    messenger().end_at_once(core().out_of_memory);
  }
  messenger().end_at_once(all);
}

bool WorldScope::end_run() {
  ScopeCore& world = core();
  world.run_has_ended.store(true, std::memory_order_release);
  channel().end_run();
  bool is_used = channel().handlers().live_count() > 0;
  {
    const sync::Lock lock(world.mutex);
    is_used = world.sources.tell_of_end() || is_used;
  }
  return is_used || !nested_in(world).empty();
}

// Handlers may do what it waits for.
void WorldScope::main_polls() { open_all_handlers(core()); }

void WorldScope::main_parks() {
  open_all_handlers(core());
  const sync::Lock lock(core().mutex);
  core().member.begin_own_wait();
}

// The task that wakes the main function has not finished yet, so every snapshot sees that something
// runs.
void WorldScope::main_goes_on() {
  const sync::Lock lock(core().mutex);
  core().member.end_own_wait();
}

// Throws the outcome for which the main function was taken out of its wait, even if the world has
// failed since: all ranks throw the same.
void WorldScope::throw_to_main() {
  const bool is_stuck = [this] {
    const sync::Lock lock(core().mutex);
    return core().member.outcome() == Outcome::stuck;
  }();
  if (is_stuck) throw_stuck(core());
  throw_failure(core());
}

// --- the end of teams

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

std::string ScopeCore::describe() const { return is_world() ? name : "team '" + name + "'"; }

std::vector<std::shared_ptr<ScopeCore>> nested_in(const ScopeCore& scope) {
  if (scope.nested_count.load(std::memory_order_acquire) == 0) return {};
  const sync::Lock lock(scope.teams.mutex);
  return scope.nested;
}

std::shared_ptr<ScopeCore> nested_at(const ScopeCore& scope, std::size_t index) {
  if (index >= scope.nested_count.load(std::memory_order_acquire)) return nullptr;
  const sync::Lock lock(scope.teams.mutex);
  return index < scope.nested.size() ? scope.nested[index] : nullptr;
}

// One that was made lately, mostly.
std::shared_ptr<ScopeCore> owner_of(const ScopeCore& scope) {
  const std::vector<std::shared_ptr<ScopeCore>>& all = scope.outer->nested;
  const sync::Lock lock(scope.teams.mutex);
  return *std::find_if(all.rbegin(), all.rend(),
                       [&scope](const auto& one) { return one.get() == &scope; });
}

std::shared_ptr<ScopeCore> find_scope(ScopeCore& world, std::uint64_t team) {
  if (team == 0) return {std::shared_ptr<ScopeCore>(), &world};
  TeamDirectory& teams = world.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = teams.scopes.find(team);
  return it != teams.scopes.end() ? it->second : nullptr;
}

std::shared_ptr<ScopeCore> find_or_keep(ScopeCore& world, std::uint64_t team,
                                        FunctionRef<TeamDirectory::EarlyControl()> control) {
  if (team == 0) return {std::shared_ptr<ScopeCore>(), &world};
  TeamDirectory& teams = world.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = teams.scopes.find(team);
  if (it != teams.scopes.end()) return it->second;
  teams.early[team].push_back(control());
  return nullptr;
}

std::vector<TeamDirectory::EarlyControl> enter_directory(const std::shared_ptr<ScopeCore>& scope) {
  const std::uint64_t id = scope->channel().team().id();
  TeamDirectory& teams = scope->teams;
  const sync::Lock lock(teams.mutex);
  const auto it = teams.early.find(id);
  if (it == teams.early.end()) {
    teams.scopes.emplace(id, scope);
    return {};
  }
  std::vector<TeamDirectory::EarlyControl> early = std::move(it->second);
  teams.early.erase(it);
  return early;
}

void open_all_handlers(const ScopeCore& scope) {
  messaging::Channel& channel = scope.channel();
  if (!channel.handlers().all_open()) channel.open_handlers();
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) open_all_handlers(*inner);
}

namespace {

// A member that is taken out may send until it has unwound: outer scopes count these messages, and
// other members drop them, or ask this scope. They have ended when the outer one does.
bool is_complete_for_good(const ScopeCore& scope) {
  if (scope.all_final.load(std::memory_order_acquire)) return true;
  if (!scope.abandoned.load(std::memory_order_acquire)) return false;
  return scope.outer->is_world() || is_complete_for_good(*scope.outer);
}

}  // namespace

bool has_ended(const ScopeCore& scope) {
  if (!is_complete_for_good(scope) || !nested_in(scope).empty()) return false;
  const bool has_handlers = scope.channel().handlers().live_count() > 0;
  const sync::Lock lock(scope.mutex);
  return scope.member.is_released() &&
         (scope.owner != nullptr || (scope.sources.empty() && !has_handlers));
}

void sweep(const std::shared_ptr<ScopeCore>& ended) {
  ScopeCore& outer = *ended->outer;
  TeamDirectory& teams = outer.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = std::find(outer.nested.begin(), outer.nested.end(), ended);
  if (it == outer.nested.end()) return;  // another worker was first
  outer.nested.erase(it);
  outer.nested_count.store(outer.nested.size(), std::memory_order_release);
  teams.scopes.erase(ended->channel().team().id());
  if (outer.world.nested.empty()) outer.messenger().set_has_teams(false);
  Totals& sum = outer.left_behind;
  ended->facade.counts.add_ended(sum);
  ended->facade.counts.add_begun(sum);
  sum.created += ended->left_behind.created;
  sum.finished += ended->left_behind.finished;
  sum.queued += ended->left_behind.queued;
  sum.processed += ended->left_behind.processed;
  outer.outside.take_over(ended->outside);
}

std::string Standing::text() const {
  if (is_wait()) return "wait()";
  if (number == 0) return name;
  return fmt::format("{}{} (collective number {})", name,
                     root < 0 ? "" : fmt::format(" with root {}", root), number);
}

}  // namespace shoal::term
