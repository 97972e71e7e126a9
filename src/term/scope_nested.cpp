// Scopes of teams, nested in the scope of the team on whose ranks they were made.

#include <shoal/term/scope.hpp>

#include <shoal/base/check.hpp>
#include <shoal/sched/park.hpp>

#include "term/scope_teams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::term {

/// Wait of a member of a nested scope: in wait(), or in a collective operation.
class Scope::Meeting final : public sched::Waitable {
 public:
  Meeting(Scope& scope, const Standing& what, bool final, FunctionRef<bool()> is_over)
      : Waitable(scope.scheduler()), scope_(scope), what_(what), final_(final), is_over_(is_over) {}

  bool enlist(sync::Waiter& waiter) override {
    {
      const sync::Lock lock(scope_.mutex_);
      scope_.waiter_ = &waiter;
      scope_.parked_in_ = what_;
      scope_.final_ = final_;
      scope_.parked_since_ns_ = scope_.scheduler().env().now_ns();
      scope_.outcome_ = Outcome::running;
      ++scope_.park_count_;
    }
    const bool over = is_over_();
    const sync::Lock lock(scope_.mutex_);
    const bool taken = scope_.waiter_ != &waiter;  // by whoever wakes it
    if (over && !taken) {
      scope_.waiter_ = nullptr;
      scope_.outcome_ = Outcome::done;
      return false;
    }
    scope_.parked_.store(scope_.waiter_ != nullptr, std::memory_order_release);
    return true;
  }
  bool withdraw(sync::Waiter& waiter) override {
    const sync::Lock lock(scope_.mutex_);
    if (scope_.waiter_ != &waiter) return false;
    scope_.waiter_ = nullptr;
    scope_.parked_.store(false, std::memory_order_release);
    return true;
  }
  [[nodiscard]] std::string describe() const override {
    const char* const wait = final_ ? "the end" : "wait()";
    return fmt::format("{} of {}", what_.is_wait() ? wait : what_.text(), scope_.describe());
  }

 private:
  Scope& scope_;
  const Standing what_;
  const bool final_;
  const FunctionRef<bool()> is_over_;
};

void Scope::meet(const Standing& what, bool final, FunctionRef<bool()> is_over) {
  const Outcome outcome = stand_in_meeting(what, final, is_over);
  if (outcome == Outcome::failed) throw_failure();
  if (outcome == Outcome::stuck) throw_stuck();
}

Scope::Outcome Scope::stand_in_meeting(const Standing& what, bool final,
                                       FunctionRef<bool()> is_over) {
  channel_.open_handlers();
  if (sched::in_main_function()) world_.open_all_handlers();
  {
    const sync::Lock lock(mutex_);
    SHOAL_CHECK(waiter_ == nullptr && !meeting_,
                "{} was called while another task of this rank stands in an operation of {}: "
                "members take part one task at a time",
                what.text(), describe());
    meeting_ = true;
    const sched::Task* const task = sched::current_task();
    waiter_scope_ = task->scope;
  }
  Outcome outcome = Outcome::running;
  const auto leave = [&] {
    const sync::Lock lock(mutex_);
    meeting_ = false;
    waiter_scope_ = nullptr;
    outcome = outcome_;
  };
  Meeting meeting(*this, what, final, is_over);
  try {
    sched::wait_for(meeting);
  } catch (...) {
    leave();
    drain();
    throw;
  }
  leave();
  messenger_.flush();
  return outcome;
}

// The caller is about to unwind, because an outer scope has failed: tasks of this one, which are
// dropped unless they run, may use what stands on its stack. For a main function all has ended.
// So it is for a task of this scope, which ends with the others.
void Scope::drain() {
  if (sched::in_main_function()) return;
  const sched::TaskScope* const own = sched::current_task()->scope;
  if (own != nullptr && own->is_within(*this)) return;
  while (!is_at_rest_here()) {
    sched::block(scheduler().env(), "the end of the tasks of a team that failed",
                 [this](sync::Waiter& waiter) {
                   const sync::Lock lock(mutex_);
                   draining_.push_back(&waiter);
                   return true;
                 });
  }
}

// A worker that ends the last task, or parks in drain(), looks here afterwards.
void Scope::wake_draining() {
  std::vector<sync::Waiter*> woken;
  {
    const sync::Lock lock(mutex_);
    if (draining_.empty() || !is_at_rest_here()) return;
    woken.swap(draining_);
  }
  for (sync::Waiter* const waiter : woken) waiter->wake();
}

bool Scope::is_at_rest_here() const {
  const Totals totals = all_totals();
  return totals.created == totals.finished;
}

void Scope::wake_waiter() {
  sync::Waiter* woken = nullptr;
  {
    const sync::Lock lock(mutex_);
    woken = std::exchange(woken_, nullptr);
  }
  if (woken != nullptr) woken->wake();
  if (outer_ == nullptr || !failed()) return;
  for (const std::shared_ptr<Scope>& inner : nested()) inner->wake_waiter();
}

bool Scope::is_parked() const { return has_parked(*this); }

// relaxed: written under mutex_, which is held. In a team that has failed a member may stand in an
// operation of a nested one that others will never take part in: it is taken out of that when the
// outer one completes. A task of `team` that stands there is no member of it: it was cancelled.
bool Scope::has_parked(const Scope& team) const {
  const bool is_task = this != &team && waiter_scope_ != nullptr && waiter_scope_->is_within(team);
  if (!is_task && parked_.load(std::memory_order_relaxed)) return true;
  if (outer_ == nullptr || !failed()) return false;
  for (const std::shared_ptr<Scope>& inner : nested()) {
    const sync::Lock lock(inner->mutex_);
    if (!inner->released_ && inner->has_parked(team)) return true;
  }
  return false;
}

std::uint64_t Scope::count_parks() const {
  std::uint64_t count = park_count_;
  if (outer_ == nullptr || !failed()) return count;
  for (const std::shared_ptr<Scope>& inner : nested()) {
    const sync::Lock lock(inner->mutex_);
    count += inner->count_parks();
  }
  return count;
}

// The outer scope has completed, with a failure: nothing of this one is left on any rank.
void Scope::take_out(Outcome outcome) {
  const sync::Lock lock(mutex_);
  abandoned_ = true;
  finish_park(outcome);
}

// --- from the outside in

Scope& Scope::nest(messaging::ChannelTeam team, std::string name) {
  const std::shared_ptr<Scope> scope(new Scope(*this, std::move(team), std::move(name)));
  world_.has_nested_.store(true, std::memory_order_release);
  const sync::Lock lock(world_.nesting_mutex_);
  nested_.push_back(scope);
  messenger_.set_has_teams(true);
  return *scope;
}

// Handles the control messages that came early before it enters the scope in the table, where later
// ones find it: those must not overtake.
void Scope::open() {
  const std::uint64_t id = channel_.team();
  channel_.open();
  std::shared_ptr<Scope> scope;
  for (const std::shared_ptr<Scope>& inner : outer_->nested()) {
    if (inner.get() == this) scope = inner;
  }
  while (true) {
    std::vector<EarlyControl> early;
    {
      const sync::Lock lock(world_.nesting_mutex_);
      const auto it = world_.teams_->early.find(id);
      if (it == world_.teams_->early.end()) {
        world_.teams_->scopes.emplace(id, scope);
        break;
      }
      early = std::move(it->second);
      world_.teams_->early.erase(it);
    }
    for (EarlyControl& one : early) one(scope);
  }
  if (outer_->failed()) fail_from_outside(*outer_->failure());
}

bool Scope::is_abandoned() const {
  const sync::Lock lock(mutex_);
  return abandoned_;
}

void Scope::stand_until_ended() {
  for (bool all_ended = is_abandoned(); !all_ended;) {
    static_cast<void>(stand_in_meeting({}, true, [] { return false; }));
    const sync::Lock lock(mutex_);
    all_ended = all_final_ || abandoned_;
  }
}

// Called by destructors, so it does not throw: errors fail the outer scope.
void Scope::end() noexcept {
  try {
    stand_until_ended();
    if (failed()) pass_failure_outwards();
  } catch (const CancelledError&) {  // the outer scope has failed, which others are told
  } catch (const TaskError&) {       // likewise
  } catch (...) {
    outer_->fail("the end of " + describe(), std::current_exception());
  }
}

std::exception_ptr Scope::end_and_take_failure() noexcept {
  try {
    failure_told_ = true;
    stand_until_ended();
    return failed() ? std::make_exception_ptr(TaskError(*failure())) : nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

std::shared_ptr<Scope> Scope::find(std::uint64_t team) {
  if (team == 0) return {std::shared_ptr<Scope>(), this};
  const sync::Lock lock(nesting_mutex_);
  const auto it = teams_->scopes.find(team);
  return it != teams_->scopes.end() ? it->second : nullptr;
}

std::shared_ptr<Scope> Scope::find_or_keep(std::uint64_t team,
                                           FunctionRef<EarlyControl()> control) {
  if (team == 0) return {std::shared_ptr<Scope>(), this};
  const sync::Lock lock(nesting_mutex_);
  const auto it = teams_->scopes.find(team);
  if (it != teams_->scopes.end()) return it->second;
  teams_->early[team].push_back(control());
  return nullptr;
}

void Scope::release() {
  sched::Scheduler& scheduler = this->scheduler();
  {
    const sync::Lock lock(mutex_);
    released_ = true;
    final_ = true;
    ++park_count_;
    parked_.store(true, std::memory_order_release);
  }
  // From here on another worker may destroy this scope.
  scheduler.look_again();
}

void Scope::abandon(std::unique_ptr<ScopeOwner> owner) {
  {
    const sync::Lock lock(mutex_);
    owner_ = std::move(owner);
  }
  release();
}

std::vector<std::shared_ptr<Scope>> Scope::nested() const {
  if (!world_.has_nested_.load(std::memory_order_acquire)) return {};
  const sync::Lock lock(world_.nesting_mutex_);
  return nested_;
}

void Scope::open_all_handlers() {
  channel_.open_handlers();
  for (const std::shared_ptr<Scope>& inner : nested()) inner->open_all_handlers();
}

bool Scope::poll_nested() {
  bool did = false;
  for (const std::shared_ptr<Scope>& inner : nested()) {
    did = inner->poll_nested() || did;
    did = inner->poll_detector() || did;
    inner->wake_waiter();
    inner->wake_draining();
    if (inner->has_ended()) {
      sweep(inner);
      did = true;
    }
  }
  return did;
}

// Complete on all ranks, for good, and nothing here refers to it.
bool Scope::has_ended() const {
  if (!nested().empty() || !is_complete_for_good()) return false;
  const bool has_handlers = channel_.handlers().live_count() > 0;
  const sync::Lock lock(mutex_);
  return released_ && (owner_ != nullptr || (sources_.empty() && !has_handlers));
}

// A member that is taken out may send until it has unwound: outer scopes count these messages, and
// other members drop them, or ask this scope. They have ended when the outer one does.
bool Scope::is_complete_for_good() const {
  {
    const sync::Lock lock(mutex_);
    if (all_final_ || !abandoned_) return all_final_;
  }
  return outer_->outer_ == nullptr || outer_->is_complete_for_good();
}

void Scope::sweep(const std::shared_ptr<Scope>& inner) {
  const sync::Lock lock(world_.nesting_mutex_);
  const auto it = std::find(nested_.begin(), nested_.end(), inner);
  if (it == nested_.end()) return;  // another worker was first
  nested_.erase(it);
  world_.teams_->scopes.erase(inner->channel_.team());
  if (world_.nested_.empty()) messenger_.set_has_teams(false);
  inner->add_ended(left_behind_);
  inner->add_begun(left_behind_);
  left_behind_.created += inner->left_behind_.created;
  left_behind_.finished += inner->left_behind_.finished;
  left_behind_.queued += inner->left_behind_.queued;
  left_behind_.processed += inner->left_behind_.processed;
}

void Scope::add_team_states(std::vector<TeamState>& states) const {
  TeamState state{describe(), rank(), size(), "", 0, all_totals(), failed()};
  {
    const sync::Lock lock(mutex_);
    if (waiter_ != nullptr) {
      state.waits_in = parked_in_.is_wait() && final_ ? "its end" : parked_in_.text();
      state.since_ns = parked_since_ns_;
    }
  }
  states.push_back(std::move(state));
  for (const std::shared_ptr<Scope>& inner : nested()) inner->add_team_states(states);
}

// --- sums over a scope and all that are nested in it

sched::TaskScope::Totals Scope::all_totals() const {
  if (!world_.has_nested_.load(std::memory_order_acquire)) return totals();
  Totals sum;
  const sync::Lock lock(world_.nesting_mutex_);
  add_all(sum, &Scope::add_ended_and_left);
  add_all(sum, &Scope::add_begun);
  return sum;
}

void Scope::add_ended_and_left(Totals& sum) const {
  sum.created += left_behind_.created;
  sum.finished += left_behind_.finished;
  sum.queued += left_behind_.queued;
  sum.processed += left_behind_.processed;
  add_ended(sum);
}

template <class Add>
void Scope::add_all(Totals& sum, Add add) const {
  (this->*add)(sum);
  for (const std::shared_ptr<Scope>& inner : nested_) inner->add_all(sum, add);
}

std::uint64_t Scope::all_held() const {
  if (outer_ == nullptr) return messenger_.held_count();
  if (messenger_.held_count() == 0) return 0;
  std::uint64_t held = messenger_.held_count(channel_.team());
  for (const std::shared_ptr<Scope>& inner : nested()) held += inner->all_held();
  return held;
}

// Without what is held. A task that waits for the end of its own team is not what the team waits
// for.
std::uint64_t Scope::count_unsatisfied() const {
  const bool in_wait = released_ || (waiter_ != nullptr && parked_in_.is_wait());
  std::uint64_t count = in_wait ? 0 : 1;
  if (outer_ == nullptr) {
    count += scheduler().waiting_count();
  } else {
    count += all_parked();
    if (waiter_ != nullptr && waiter_scope_ != nullptr && waiter_scope_->is_within(*this) &&
        count > 0)
      --count;
  }
  return count + count_sources();
}

// Not from the lists of what stands parked: their locks come before that of the scope.
std::uint64_t Scope::all_parked() const {
  std::uint64_t count = parked_tasks();
  for (const std::shared_ptr<Scope>& inner : nested()) count += inner->all_parked();
  return count;
}

std::uint64_t Scope::count_sources() const {
  std::uint64_t count = 0;
  for (const Unsatisfied* source : sources_) count += source->unsatisfied_count();
  for (const std::shared_ptr<Scope>& inner : nested()) {
    const sync::Lock lock(inner->mutex_);
    count += inner->count_sources();
  }
  return count;
}

}  // namespace shoal::term
