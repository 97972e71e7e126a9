#include <shoal/term/scope.hpp>

#include <shoal/base/check.hpp>
#include <shoal/sched/function_task.hpp>
#include <shoal/sync/strand.hpp>

#include "term/scope_messages.hpp"
#include "term/scope_teams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace shoal::term {

namespace {

constexpr std::size_t kReserveBytes = 64UL << 10U;

}  // namespace

Hold::Hold(Scope& scope) : scope_(&scope) { scope.begin_hold(); }

Hold::~Hold() {
  if (scope_ != nullptr) scope_->end_hold();
}

Scope::Scope(messaging::Messenger& messenger)
    : TaskScope(messenger.scheduler().worker_count()),
      messenger_(messenger),
      outer_(nullptr),
      world_(*this),
      name_("the world"),
      channel_(messenger, *this, {}),
      tree_{messenger.rank(), messenger.size()},
      children_(tree_.children()),
      detector_(tree_, *this),
      teams_(std::make_unique<Teams>()),
      reserve_(std::make_unique_for_overwrite<std::byte[]>(kReserveBytes)),
      out_of_memory_(fmt::format("rank {}: a task, a handler or the main function failed, and "
                                 "there is no memory left to say more, or to end in order",
                                 messenger.rank().value())) {
  channel_.open();
  messenger.scheduler().set_scope(*this);
  messenger.set_idle_listener(*this);
}

Scope::Scope(Scope& outer, messaging::ChannelTeam team, std::string name)
    : TaskScope(outer.scheduler().worker_count(), &outer),
      messenger_(outer.messenger_),
      outer_(&outer),
      world_(outer.world_),
      name_(std::move(name)),
      channel_(messenger_, *this, std::move(team)),
      tree_{channel_.rank(), channel_.size()},
      children_(tree_.children()),
      checks_graphs_(outer.checks_graphs_),
      detector_(tree_, *this),
      out_of_memory_(outer.out_of_memory_) {}

Scope::~Scope() {
  std::unique_ptr<ScopeOwner> owner;  // refers to the members
  {
    const sync::Lock lock(mutex_);
    owner = std::move(owner_);
  }
}

std::string Scope::describe() const {
  return outer_ == nullptr ? name_ : fmt::format("team '{}'", name_);
}

std::string Standing::text() const {
  if (is_wait()) return "wait()";
  return number == 0 ? name : fmt::format("{} (collective number {})", name, number);
}

void Scope::insist(FunctionRef<void()> step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    const sync::Lock lock(mutex_);
    reserve_.reset();
  }
  try {
    step();
  } catch (const std::bad_alloc&) {
    messenger_.end_at_once(out_of_memory_);
  }
}

// --- the main function's side

void Scope::check_main(const char* what) {
  SHOAL_CHECK(!sched::in_handler(), "{} was called in a handler; call it in the main function",
              what);
  SHOAL_CHECK(sched::in_main_function(),
              "{} was called in a task or a thread of its own; call it in the main function", what);
}

void Scope::check_member(const char* what) const {
  if (outer_ == nullptr) return check_main(what);
  SHOAL_CHECK(!sched::in_handler(), "{} of {} was called in a handler; call it in a task", what,
              describe());
  SHOAL_CHECK(
      sched::in_suspendable_task(),
      "{} of {} was called on a thread of its own, or in a task made from a message; call it "
      "in the main function or a task that it has spawned",
      what, describe());
}

void Scope::wait() {
  check_member("wait()");
  if (outer_ != nullptr) return meet({}, false, [] { return false; });
  park({}, false, [] {});
}

void Scope::wait_for_end() {
  std::exception_ptr first;
  bool all_ended = false;
  while (!all_ended) {
    const Outcome outcome = stand({}, true, [] {});
    if (outcome == Outcome::failed && first == nullptr) insist([&] { first = tell_of_failure(); });
    std::exception_ptr stuck;
    {
      const sync::Lock lock(mutex_);
      // Others may repair it.
      if (outcome == Outcome::stuck && all_final_) {
        stuck = std::make_exception_ptr(StuckError(stuck_text_));
      }
      all_ended = all_final_ && stuck == nullptr;
    }
    if (stuck == nullptr) continue;
    // Nobody is left to repair it: one more round, in which what is held back is dropped.
    if (first == nullptr) first = stuck;
    fail("the end of the main functions", stuck);
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void Scope::end_before_unwinding(FunctionRef<std::string()> text) {
  fail_with("the main function", text);
  const auto ignore_holds = [this](bool ignore) {
    const sync::Lock lock(mutex_);
    ignores_holds_ = ignore;
  };
  ignore_holds(true);
  insist([this] {
    stand({"its unwinding, before which all that may use its stack must end"}, false, [] {});
  });
  ignore_holds(false);
}

void Scope::park_main(const Standing& what, FunctionRef<bool()> is_over) {
  check_member(what.name);
  if (outer_ != nullptr) return meet(what, false, is_over);
  park(what, false, [&] {
    if (is_over()) unpark_main();
  });
}

void Scope::park(const Standing& what, bool final, FunctionRef<void()> start) {
  const Outcome outcome = stand(what, final, start);
  if (outcome == Outcome::failed) throw_failure();
  if (outcome == Outcome::stuck) throw_stuck();
}

// Without the lock: what is thrown may stand still on its way (end_before_unwinding()).
void Scope::throw_stuck() {
  std::string text;
  {
    const sync::Lock lock(mutex_);
    text = stuck_text_;
  }
  throw StuckError(text);
}

Scope::Outcome Scope::stand(const Standing& what, bool final, FunctionRef<void()> start) {
  open_all_handlers();
  const char* const shown = what.is_wait() ? "wait()" : what.name;
  {
    const sync::Lock lock(mutex_);
    parked_in_ = what;
  }
  sched::block(scheduler().env(), shown, [&](sync::Waiter& waiter) {
    {
      const sync::Lock lock(mutex_);
      waiter_ = &waiter;
      final_ = final;
      parked_since_ns_ = scheduler().env().now_ns();
      outcome_ = Outcome::running;
      ++park_count_;
    }
    start();  // may find that there is nothing to wait for, and unpark
    // Only now may detection take the main function for parked: not while start() is to come.
    const sync::Lock lock(mutex_);
    parked_.store(waiter_ != nullptr, std::memory_order_release);
    return true;
  });
  if (what.is_wait()) sync::observe_all();
  // What this rank has just told others (that all is done, say) leaves now, even if the main
  // function goes on to block this thread outside shoal.
  messenger_.flush();
  const sync::Lock lock(mutex_);
  return outcome_;
}

// Told in any order: a main function may be woken before it is known to stand still.
void Scope::main_parks() {
  open_all_handlers();  // what it waits for may be the work of their handlers
  const sync::Lock lock(mutex_);
  ++main_waits_;
  ++park_count_;
  parked_.store(main_waits_ > 0, std::memory_order_release);
}

// The task that wakes the main function has not finished yet, so every snapshot sees that something
// runs.
void Scope::main_goes_on() {
  const sync::Lock lock(mutex_);
  --main_waits_;
  parked_.store(false, std::memory_order_release);
}

// Throws the outcome for which the main function was taken out of its wait, even if the world has
// failed since: all ranks throw the same.
void Scope::throw_to_main() {
  bool is_stuck = false;
  {
    const sync::Lock lock(mutex_);
    is_stuck = outcome_ == Outcome::stuck;
  }
  if (is_stuck) throw_stuck();
  throw_failure();
}

void Scope::unpark_main() {
  {
    const sync::Lock lock(mutex_);
    finish_park(Outcome::done);
  }
  wake_waiter();
}

// The main function counts as running from here on, before it runs again: a handler that unparks it
// has not been counted as processed yet, so no snapshot can miss it.
void Scope::finish_park(Outcome outcome) {
  if (outer_ != nullptr) {
    if (outcome == Outcome::failed) {
      for (const std::shared_ptr<Scope>& inner : nested()) inner->take_out(outcome);
    }
    if (waiter_ == nullptr) return;
    parked_.store(released_, std::memory_order_release);
    outcome_ = outcome;
    woken_ = std::exchange(waiter_, nullptr);
    return;
  }
  if (waiter_ == nullptr) {  // it may stand in a wait of its own
    if (outcome == Outcome::done || main_waits_ == 0) return;
    if (!scheduler().cancel_main()) return check_main_goes_on();
    --main_waits_;
    parked_.store(false, std::memory_order_release);
    outcome_ = outcome;
    return;
  }
  parked_.store(false, std::memory_order_release);
  outcome_ = outcome;
  std::exchange(waiter_, nullptr)->wake();
}

// Woken at this very moment, or never: what keeps it should have come before everything ended. The
// process ends without the lock, by a task that is not counted: others are dropped.
void Scope::check_main_goes_on() {
  const std::string where = scheduler().keeps_main();
  if (where.empty()) return;
  std::string text = fmt::format(
      "rank {}: nothing runs any more, but the main function waits in {}, which it cannot be taken "
      "out of",
      messenger_.rank().value(), where);
  if (error_.has_value()) text += fmt::format("; the world has failed: {}", error_->what());
  auto task =
      sched::make_function_task(*this, "end", [this, text] { messenger_.end_at_once(text); });
  task->scope = nullptr;
  scheduler().submit(std::move(task));
}

void Scope::throw_failure() {
  std::exception_ptr failure;
  insist([&] { failure = take_failure(); });
  std::rethrow_exception(failure);
}

// What the main function is to hear of the failure.
std::exception_ptr Scope::take_failure() {
  failure_told_ = true;
  const sync::Lock lock(mutex_);
  if (!stuck_told_late_) return std::make_exception_ptr(TaskError(*error_));
  std::exception_ptr stuck = std::make_exception_ptr(StuckError(stuck_text_));
  stuck_told_late_ = false;
  return stuck;
}

// nullptr: it has heard of it.
std::exception_ptr Scope::tell_of_failure() {
  {
    const sync::Lock lock(mutex_);
    if (failure_told_ && !stuck_told_late_) return nullptr;
  }
  return take_failure();
}

// --- detection

void Scope::begin_hold() {
  count_created(scheduler().count_slot());
  holds_.fetch_add(1, std::memory_order_release);
}

// Under the lock: no snapshot finds the hold gone, and so the world does not end, before this has
// done with the scheduler.
void Scope::end_hold() {
  const sync::Lock lock(mutex_);
  holds_.fetch_sub(1, std::memory_order_relaxed);
  count_finished(scheduler().count_slot());
  scheduler().look_again();
}

void Scope::add(Unsatisfied& source) {
  const sync::Lock lock(mutex_);
  sources_.push_back(&source);
}

void Scope::remove(Unsatisfied& source) {
  const sync::Lock lock(mutex_);
  std::erase(sources_, &source);
}

bool Scope::on_idle() {
  const bool did = has_nested_.load(std::memory_order_acquire) && poll_nested();
  return poll_detector() || did;
}

bool Scope::poll_detector() {
  // A hint is enough: whoever parks the main function goes idle after it.
  if (!parked_.load(std::memory_order_acquire) && !(outer_ != nullptr && failed())) return false;
  const sync::Lock lock(mutex_);
  return detector_.on_idle();
}

std::optional<Snapshot> Scope::snapshot() {
  if (!is_parked()) return std::nullopt;
  // Read before the totals: what one that begins meanwhile adds to these cannot stand for a task.
  const int ignored = ignores_holds_ ? holds_.load(std::memory_order_acquire) : 0;
  const Totals now = all_totals();
  if (now.created != now.finished + static_cast<std::uint64_t>(ignored)) return std::nullopt;
  // Read after the counts: a message that is processed in between is missing, never there twice.
  if (!messenger_.held_rests()) return std::nullopt;
  const std::uint64_t held = all_held();
  Snapshot result;
  result.counts.queued = now.queued;
  result.counts.processed = now.processed + held;
  result.counts.all_final = released_ || (waiter_ != nullptr && final_);
  result.counts.failed = error_.has_value();
  result.tasks = now.created;
  result.parks = count_parks();
  // Only tasks, messages and the main function change what waits, so the sources are asked only
  // when one of these has moved.
  result.counts.unsatisfied = last_snapshot_.counts.unsatisfied;
  if (result != last_snapshot_) {
    result.counts.unsatisfied = held + count_unsatisfied();
    last_snapshot_ = result;
  }
  return result;
}

void Scope::send_report(Rank parent, const Report& report) {
  ScopeMessages::send(*this, ScopeMessages::report, parent, report);
}

void Scope::send_request(Rank child, const Request& request) {
  ScopeMessages::send(*this, ScopeMessages::request, child, request);
}

void Scope::send_confirmation(Rank parent, const Confirmation& confirmation) {
  tell_sources_of_rest();
  ScopeMessages::send(*this, ScopeMessages::confirmation, parent, confirmation);
}

void Scope::completed(const Counts& total) {
  // Only the world's scope decides that something is stuck: a team may wait for a task outside it.
  if (outer_ != nullptr && total.unsatisfied > 0 && !error_.has_value()) return;
  // A rank that has not heard of the failure may go on when a nested team completes. It will
  // report.
  if (error_.has_value() && !total.failed) return;
  const bool is_final_word = total.unsatisfied == 0 || error_.has_value();
  if (is_final_word && completion_check_) completion_check_();
  tell_sources_of_rest();
  on_done(total.unsatisfied, total.all_final);
}

// Behind this, but for a wave that fails, only what the next round brings: also what comes before
// this rank has heard that the round is over.
void Scope::tell_sources_of_rest() {
  for (Unsatisfied* source : sources_) source->at_rest();
}

void Scope::on_done(std::uint64_t unsatisfied, bool all_final) {
  for (const Rank child : children_) {
    ScopeMessages::send(*this, ScopeMessages::done, child, unsatisfied, all_final);
  }
  all_final_ = all_final;
  detector_.begin_epoch();
  if (error_.has_value()) {
    finish_park(Outcome::failed);
  } else if (unsatisfied == 0) {
    finish_park(Outcome::done);
  } else {
    stuck_ = {};
    stuck_parts_missing_ = children_.size() + 1;
    StuckPart part = stuck_part_here();
    stuck_parked_here_ = part.tasks_parked;
    add_stuck_part(std::move(part));
  }
}

ScopeState Scope::state() const {
  ScopeState state;
  state.held = all_held();
  state.holds = holds_.load(std::memory_order_relaxed);
  const sync::Lock lock(mutex_);
  state.totals = all_totals();
  for (const std::shared_ptr<Scope>& inner : nested()) inner->add_team_states(state.teams);
  if (waiter_ != nullptr) {
    state.main_in = parked_in_.text();
    state.main_since_ns = parked_since_ns_;
    state.main_final = final_;
  }
  if (error_.has_value()) state.failure = error_->what();
  state.detection = detector_.state();
  state.waiting = describe_waiting();
  return state;
}

}  // namespace shoal::term
